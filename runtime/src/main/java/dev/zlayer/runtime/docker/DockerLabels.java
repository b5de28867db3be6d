package dev.zlayer.runtime.docker;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Who a container is and what it was made from, as labels that the engine keeps. */
final class DockerLabels {
  private static final String PREFIX = "com.zlayer.";
  private static final String AGENT = PREFIX + "agent";
  private static final String DEPLOYMENT = PREFIX + "deployment";
  private static final String SERVICE = PREFIX + "service";
  private static final String ROLE = PREFIX + "role";
  private static final String REPLICA = PREFIX + "replica";
  private static final String GENERATION = PREFIX + "generation";
  private static final String SPEC = PREFIX + "spec";

  private DockerLabels() {}

  /** The spec's own labels, and ours over them. */
  static Map<String, String> of(String agent, ContainerId id, ContainerSpec spec) {
    var labels = new LinkedHashMap<>(spec.labels());
    labels.putAll(identity(agent, id));
    labels.put(SPEC, JsonText.print(RecordJson.write(spec)));
    return labels;
  }

  private static Map<String, String> identity(String agent, ContainerId id) {
    var labels = new LinkedHashMap<String, String>();
    labels.put(AGENT, agent);
    labels.put(DEPLOYMENT, id.deployment());
    labels.put(SERVICE, id.service());
    labels.put(ROLE, id.role());
    labels.put(REPLICA, Integer.toString(id.replica()));
    labels.put(GENERATION, Long.toString(id.generation()));
    return labels;
  }

  static ContainerId id(Map<String, String> labels) {
    return new ContainerId(
        labels.getOrDefault(DEPLOYMENT, ""),
        labels.getOrDefault(SERVICE, ""),
        labels.getOrDefault(ROLE, ""),
        Integer.parseInt(labels.getOrDefault(REPLICA, "0")),
        Long.parseLong(labels.getOrDefault(GENERATION, "0")));
  }

  static ContainerSpec spec(Map<String, String> labels) {
    return RecordJson.read(JsonText.parse(labels.getOrDefault(SPEC, "{}")), ContainerSpec.class);
  }

  /** Finds all containers of an agent. */
  static String filter(String agent) {
    return filter(Map.of(AGENT, agent));
  }

  /** Finds one. */
  static String filter(String agent, ContainerId id) {
    return filter(identity(agent, id));
  }

  private static String filter(Map<String, String> labels) {
    List<String> wanted =
        labels.entrySet().stream().map(label -> label.getKey() + "=" + label.getValue()).toList();
    return DockerApi.encoded(JsonText.print(Json.object().put("label", wanted).build()));
  }
}
