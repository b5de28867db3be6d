package dev.zlayer.daemon;

import java.util.Map;

/** Whether every part works; for those that do not, why. */
public record Health(boolean ready, Map<String, String> parts) {
  public Health {
    parts = Map.copyOf(parts);
  }
}
