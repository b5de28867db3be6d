package dev.zlayer.spec.compose;

import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.yaml.YamlNode;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/** The section {@code deploy} of a service: replicas, limits, restarts and updates. */
final class ComposeDeploy {
  private final ComposeScope scope;
  private final Map<String, Object> out;
  private final Map<String, Object> resources;
  private final boolean job;

  ComposeDeploy(
      ComposeScope scope, Map<String, Object> out, Map<String, Object> resources, boolean job) {
    this.scope = scope;
    this.out = out;
    this.resources = resources;
    this.job = job;
  }

  void convert(YamlNode value, SpecPath at) {
    each(
        value,
        at,
        (key, node, path) -> {
          switch (key) {
            case "replicas" -> {
              if (!job) {
                var scale = new LinkedHashMap<String, Object>();
                scale.put("mode", "fixed");
                scale.put("replicas", ComposeService.number(scope.text(node)));
                out.put("scale", scale);
              }
            }
            case "resources" -> each(node, path, this::resources);
            case "restart_policy" -> restart(node, path);
            case "update_config" -> update(node, path);
            case "labels" -> scope.warn(node, path, "services have no labels, containers have");
            case "mode", "endpoint_mode" -> {
              if (!Set.of("replicated", "vip").contains(scope.text(node))) {
                scope.unsupported(node, path, "is not supported");
              }
            }
            default -> scope.unsupported(node, path, "is not supported");
          }
        });
  }

  private interface Key {
    void accept(String key, YamlNode value, SpecPath path);
  }

  private void each(YamlNode node, SpecPath path, Key key) {
    if (node instanceof YamlNode.Mapping mapping) {
      mapping
          .entries()
          .forEach(
              entry -> key.accept(entry.key().text(), entry.value(), path.key(entry.key().text())));
    } else {
      scope.unsupported(node, path, "write a mapping");
    }
  }

  private void resources(String kind, YamlNode node, SpecPath path) {
    each(
        node,
        path,
        (key, value, at) -> {
          String text = scope.text(value);
          switch (kind + "." + key) {
            case "limits.cpus" -> resources.put("cpu", ComposeService.decimal(text));
            case "limits.memory" -> resources.put("memory", Words.size(text));
            case "limits.pids" -> resources.put("pids_limit", ComposeService.number(text));
            case "reservations.memory" -> resources.put("memory_reservation", Words.size(text));
            case "reservations.cpus" ->
                scope.warn(value, at, "processors are not reserved; see cpu_shares");
            case "reservations.devices" -> gpus(value, at);
            default -> scope.unsupported(value, at, "is not supported");
          }
        });
  }

  private void gpus(YamlNode node, SpecPath path) {
    if (node instanceof YamlNode.Sequence(_, var items)
        && items.size() == 1
        && items.getFirst() instanceof YamlNode.Mapping device
        && device
            .find("capabilities")
            .map(e -> scope.texts(e.value()))
            .orElse(java.util.List.of())
            .contains("gpu")) {
      if (device.find("device_ids").isPresent()) {
        resources.put(
            "gpu", Words.map("devices", scope.texts(device.find("device_ids").get().value())));
        return;
      }
      // Compose means all by a reservation without a number
      String count = device.find("count").map(e -> scope.text(e.value())).orElse("all");
      if (count.equals("all") || count.equals("-1")) {
        resources.put("gpu", Words.map("devices", java.util.List.of("all")));
        return;
      }
      if (count.matches("[0-9]+")) {
        resources.put("gpu", Words.map("count", ComposeService.number(count)));
        return;
      }
    }
    scope.unsupported(node, path, "only GPUs can be reserved, by count or device_ids");
  }

  private void restart(YamlNode node, SpecPath path) {
    var policy = new LinkedHashMap<String, Object>();
    policy.put("kind", "always");
    each(
        node,
        path,
        (key, value, at) -> {
          String text = scope.text(value);
          switch (key) {
            case "condition" ->
                policy.put(
                    "kind",
                    text.equals("none") ? "no" : text.equals("any") ? "always" : "on_failure");
            case "delay" -> policy.put("delay", text);
            case "max_attempts" -> policy.put("max_attempts", ComposeService.number(text));
            default -> scope.warn(value, at, "has no effect here");
          }
        });
    if (!job) {
      out.put("restart_policy", policy);
    }
  }

  private void update(YamlNode node, SpecPath path) {
    var update = new LinkedHashMap<String, Object>();
    each(
        node,
        path,
        (key, value, at) -> {
          String text = scope.text(value);
          switch (key) {
            case "order" -> update.put("strategy", text.replace('-', '_'));
            case "delay" -> update.put("min_healthy_time", text);
            case "failure_action" -> update.put("rollback", text.equals("rollback"));
            default -> scope.warn(value, at, "has no effect here");
          }
        });
    if (!job && !update.isEmpty()) {
      out.put("update", update);
    }
  }
}
