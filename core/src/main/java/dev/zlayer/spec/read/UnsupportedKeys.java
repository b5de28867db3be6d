package dev.zlayer.spec.read;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.bind.Shape;
import dev.zlayer.spec.bind.Shapes;
import dev.zlayer.spec.problem.Problem;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.yaml.YamlNode;
import dev.zlayer.spec.yaml.YamlNode.Entry;
import dev.zlayer.spec.yaml.YamlNode.Mapping;
import dev.zlayer.spec.yaml.YamlNode.Sequence;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The one list of keys that are read and checked but not yet acted on by anything. Whoever builds
 * one of them removes its line here.
 */
public final class UnsupportedKeys {
  /**
   * A key that nothing acts on.
   *
   * @param path keys joined by dots; {@code *} stands for any name or list entry
   */
  public record Key(String path, String reason) {}

  /** What nodes of a cluster honour. */
  private static final String IN_CLUSTER =
      "only a cluster has several nodes, begin one with 'zlayer cluster init'";

  private static final String NO_TUNNELS =
      "there are no tunnels: every node of a cluster serves an endpoint with 'expose: public'; use"
          + " ssh -L or a VPN to reach it from elsewhere";
  private static final String BY_SCALE = "the number of modules is that of scale";
  private static final String NO_REQUESTS = "requests are not passed to modules yet";
  private static final String NO_SOCKETS = "modules have no network";
  private static final String NO_KEYS = "modules keep nothing by key, give them a volume";

  /** Keys that may also be written otherwise. */
  private static final Map<String, String> OTHER_NAMES = Map.of("wasm", "wasm_http");

  public static final List<Key> KEYS =
      List.of(
          new Key(
              "externals",
              "services outside of the deployment are not proxied: give containers the address in"
                  + " 'env', or a name for it in 'extra_hosts', as [\"db:192.0.2.7\"]"),
          new Key("tunnels", NO_TUNNELS),
          new Key("api", "set it in the agent's own configuration"),
          new Key("services.*.image.source_policy", "there is no shared image store yet"),
          new Key(
              "services.*.network",
              "services choose neither access nor encryption: deployments are separate from each"
                  + " other, and 'zlayer cluster init --encrypt' encrypts between all nodes"),
          new Key("services.*.endpoints.*.stream", "the proxy has no stream settings yet"),
          new Key("services.*.endpoints.*.tunnel", NO_TUNNELS),
          new Key("services.*.node_mode", IN_CLUSTER),
          new Key("services.*.node_selector", IN_CLUSTER),
          new Key("services.*.affinity", IN_CLUSTER),
          new Key("services.*.replica_groups.*.affinity", IN_CLUSTER),
          new Key("services.*.isolation", "Windows containers are not isolated by the agent"),
          new Key("services.*.storage.*.tier", "all volumes lie on the local disk"),
          new Key("services.*.resources.gpu.scheduling", IN_CLUSTER),
          new Key("services.*.resources.gpu.distributed", IN_CLUSTER),
          new Key("services.*.wasm.min_instances", BY_SCALE),
          new Key("services.*.wasm.max_instances", BY_SCALE),
          new Key("services.*.wasm.idle_timeout", NO_REQUESTS),
          new Key("services.*.wasm.request_timeout", NO_REQUESTS),
          new Key(
              "services.*.wasm.max_fuel", "instructions are not counted, give a job a deadline"),
          new Key("services.*.wasm.epoch_interval", "a module can be ended at any time without it"),
          new Key("services.*.wasm.allow_http_outgoing", NO_SOCKETS),
          new Key("services.*.wasm.allowed_hosts", NO_SOCKETS),
          new Key("services.*.wasm.allow_tcp", NO_SOCKETS),
          new Key("services.*.wasm.allow_udp", NO_SOCKETS),
          new Key("services.*.wasm.kv_enabled", NO_KEYS),
          new Key("services.*.wasm.kv_namespace", NO_KEYS),
          new Key("services.*.wasm.kv_max_value_size", NO_KEYS),
          new Key("services.*.wasm.secrets", "give them to the module as variables, with $S:"));

  private UnsupportedKeys() {}

  /** Whether a key that was found is honoured on a node of a cluster. */
  public static boolean needsCluster(Problem found) {
    return found.message().equals(IN_CLUSTER);
  }

  /** The listed keys as fields of their records; fails when a key does not exist. */
  static Set<String> fields() {
    var fields = new HashSet<String>();
    for (Key key : KEYS) {
      Set<Shape> level = Set.of(Shapes.of(DeploymentSpec.class));
      for (String step : key.path().split("\\.", -1)) {
        var below = new HashSet<Shape>();
        level.forEach(shape -> descend(shape, step, below, fields, key));
        level = below;
      }
      if (level.isEmpty()) {
        throw new AgentException.Internal("there is no key " + key.path(), null);
      }
    }
    return fields;
  }

  private static void descend(
      Shape shape, String step, Set<Shape> below, Set<String> fields, Key key) {
    switch (shape) {
      case Shape.ListOf(var item, _) -> below.add(item);
      case Shape.MapOf map -> below.add(map.value());
      case Shape.Union union ->
          union.variants().values().forEach(one -> descend(one, step, below, fields, key));
      case Shape.Block block ->
          block.flatFields().stream()
              .filter(field -> field.name().equals(step))
              .forEach(
                  field -> {
                    below.add(field.shape());
                    if (key.path().endsWith("." + step) || key.path().equals(step)) {
                      fields.add(field(block, step));
                    }
                  });
      default -> {}
    }
  }

  static String field(Shape.Block block, String name) {
    return block.type().getName() + "." + name;
  }

  /** Reports every such key that is written in the file. */
  static void find(YamlNode root, Problems found) {
    for (Key key : KEYS) {
      List<String> steps = Arrays.asList(key.path().split("\\.", -1));
      find(root, root, SpecPath.ROOT, steps, key, found);
    }
  }

  private static void find(
      YamlNode root, YamlNode node, SpecPath path, List<String> steps, Key key, Problems found) {
    if (steps.isEmpty()) {
      if (found.clean(path)) {
        found.add(root.locate(path), path, key.reason());
      }
      return;
    }
    List<String> rest = steps.subList(1, steps.size());
    boolean any = steps.getFirst().equals("*");
    if (node instanceof Mapping mapping) {
      for (Entry entry : mapping.entries()) {
        String name = entry.key().text();
        boolean meant =
            name.equals(steps.getFirst()) || name.equals(OTHER_NAMES.get(steps.getFirst()));
        if ((any || meant) && !entry.value().isNull()) {
          find(root, entry.value(), path.key(name), rest, key, found);
        }
      }
    } else if (node instanceof Sequence(_, var items) && any) {
      for (int i = 0; i < items.size(); i++) {
        find(root, items.get(i), path.index(i), rest, key, found);
      }
    }
  }
}
