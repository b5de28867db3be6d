package dev.zlayer.container;

import java.util.Comparator;

/** Names a service within its deployment; two deployments may use the same name. */
public record ServiceKey(String deployment, String service) implements Comparable<ServiceKey> {
  private static final Comparator<ServiceKey> ORDER =
      Comparator.comparing(ServiceKey::deployment).thenComparing(ServiceKey::service);

  @Override
  public int compareTo(ServiceKey other) {
    return ORDER.compare(this, other);
  }

  @Override
  public String toString() {
    return deployment + "/" + service;
  }
}
