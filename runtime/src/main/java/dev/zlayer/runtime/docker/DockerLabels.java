package dev.zlayer.runtime.docker;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.task.LazyLogger;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;

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

  /** Of the spec; a label of its own, so that the spec's is the spec and nothing else. */
  private static final String VERSION = PREFIX + "spec-version";

  /**
   * Since version 2 a spec can have users of its own, since version 3 logs in memory, since version
   * 4 devices under other paths and rules for them, since version 5 parts of volumes and binds that
   * pass mounts on.
   */
  static final StoredFormat FORMAT =
      StoredFormat.unmarked(
          "the spec of a container",
          UnaryOperator.identity(),
          UnaryOperator.identity(),
          UnaryOperator.identity(),
          UnaryOperator.identity());

  private static final System.Logger LOG = LazyLogger.of(DockerLabels.class);

  private DockerLabels() {}

  /** The spec's own labels, and ours over them. */
  static Map<String, String> of(String agent, ContainerId id, ContainerSpec spec) {
    var labels = new LinkedHashMap<>(spec.labels());
    labels.putAll(identity(agent, id));
    labels.put(SPEC, JsonText.print(RecordJson.write(spec)));
    labels.put(VERSION, Integer.toString(FORMAT.version()));
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

  /** Of one that cannot be read, only what the engine says: it can be shown and removed. */
  static ContainerSpec spec(Map<String, String> labels, String name, String image) {
    try {
      var json = Json.object();
      JsonText.parse(labels.getOrDefault(SPEC, "{}")).members().forEach(json::put);
      Optional.ofNullable(labels.get(VERSION))
          .ifPresent(version -> json.put("version", Long.parseLong(version)));
      return RecordJson.read(FORMAT.upgrade(json.build(), name), ContainerSpec.class);
    } catch (AgentException | IllegalArgumentException e) {
      LOG.log(
          System.Logger.Level.WARNING,
          "container %s is known by its labels only: %s".formatted(name, e.getMessage()));
      return ContainerSpec.of(reference(image)).withLabels(labels);
    }
  }

  private static ImageRef reference(String image) {
    try {
      return ImageRef.parse(image);
    } catch (AgentException.InvalidSpec _) {
      return ImageRef.parse("unknown");
    }
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
