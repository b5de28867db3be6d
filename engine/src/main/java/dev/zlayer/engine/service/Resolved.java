package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.spec.ServiceSpec;
import java.util.Map;

/**
 * What the replicas of each role are made from, with nothing left to look up.
 *
 * @param images what the images were when the revision was deployed; to be remembered
 * @param outline no replica was wanted, so none can be made from it
 */
record Resolved(Map<String, Part> parts, String images, boolean outline) {
  /** The replicas of one role. */
  record Part(ServiceSpec service, ContainerSpec container, String hash) {}

  Resolved {
    parts = Map.copyOf(parts);
  }

  Part part(String role) {
    Part part = parts.get(role);
    if (part == null) {
      throw new IllegalStateException("no role " + role);
    }
    return part;
  }
}
