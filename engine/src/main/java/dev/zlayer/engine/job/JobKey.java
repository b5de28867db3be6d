package dev.zlayer.engine.job;

import java.util.Comparator;

/** Names a job or a schedule within its deployment. */
public record JobKey(String deployment, String name) implements Comparable<JobKey> {
  private static final Comparator<JobKey> ORDER =
      Comparator.comparing(JobKey::deployment).thenComparing(JobKey::name);

  @Override
  public int compareTo(JobKey other) {
    return ORDER.compare(this, other);
  }

  @Override
  public String toString() {
    return deployment + "/" + name;
  }
}
