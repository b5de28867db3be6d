package dev.zlayer.engine.translate;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.problem.SpecPath;
import java.util.ArrayList;
import java.util.List;

/** Collects what cannot be honoured, so that all of it is told at once. */
final class Refusals {
  private final SpecPath service;
  private final List<String> found = new ArrayList<>();

  Refusals(String service) {
    this.service = SpecPath.ROOT.key("services").key(service);
  }

  /** {@code path} below the service, keys joined by dots. */
  void add(String path, String reason) {
    found.add(service + "." + path + ": " + reason);
  }

  void addIf(boolean wrong, String path, String reason) {
    if (wrong) {
      add(path, reason);
    }
  }

  void check() {
    if (!found.isEmpty()) {
      throw new AgentException.Unsupported(String.join("; ", found));
    }
  }
}
