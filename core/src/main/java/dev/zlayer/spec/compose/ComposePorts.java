package dev.zlayer.spec.compose;

import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.yaml.YamlNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Published ports. One with a number of its own on all addresses becomes an endpoint, which is
 * balanced over the replicas and survives updates; any other is a mapping to one container.
 */
final class ComposePorts {
  private static final Pattern SHORT =
      Pattern.compile(
          "(?:(?<ip>\\[[^\\]]+\\]|[0-9]+(?:\\.[0-9]+){3}):)?(?:(?<host>[0-9]*(?:-[0-9]+)?):)?"
              + "(?<target>[0-9]+(?:-[0-9]+)?)(?:/(?<protocol>tcp|udp))?");
  private static final Set<String> ALL_ADDRESSES = Set.of("", "0.0.0.0", "::", "[::]");
  private static final Set<String> LOOPBACK = Set.of("127.0.0.1", "::1", "[::1]");
  private static final int MOST_PORTS = 1000;

  private final ComposeScope scope;
  private final boolean job;
  private final List<Map<String, Object>> endpoints = new ArrayList<>();
  private final List<Map<String, Object>> mappings = new ArrayList<>();

  ComposePorts(ComposeScope scope, boolean job) {
    this.scope = scope;
    this.job = job;
  }

  private record Port(String ip, Optional<Integer> host, int target, String protocol) {}

  void convert(YamlNode node, SpecPath path) {
    if (!(node instanceof YamlNode.Sequence(_, var items))) {
      scope.unsupported(node, path, "ports are a list");
      return;
    }
    for (int i = 0; i < items.size(); i++) {
      one(items.get(i), path.index(i));
    }
  }

  private void one(YamlNode node, SpecPath path) {
    String ip = "";
    String host = "";
    String target;
    String protocol = "tcp";
    if (node instanceof YamlNode.Mapping mapping) {
      target = value(mapping, "target");
      host = value(mapping, "published");
      ip = value(mapping, "host_ip");
      protocol = value(mapping, "protocol").isEmpty() ? "tcp" : value(mapping, "protocol");
      for (String key : mapping.members().keySet()) {
        if (!Set.of("target", "published", "host_ip", "protocol", "name", "app_protocol", "mode")
            .contains(key)) {
          scope.unsupported(node, path.key(key), "is not a setting of a port");
        }
      }
    } else {
      Matcher matcher = SHORT.matcher(scope.text(node));
      if (!matcher.matches()) {
        scope.unsupported(node, path, "is not [IP:][HOST:]CONTAINER[/PROTOCOL]");
        return;
      }
      ip = Optional.ofNullable(matcher.group("ip")).orElse("");
      host = Optional.ofNullable(matcher.group("host")).orElse("");
      target = matcher.group("target");
      protocol = Optional.ofNullable(matcher.group("protocol")).orElse("tcp");
    }
    List<Integer> targets = range(target);
    List<Integer> hosts = range(host);
    if (targets.isEmpty() || (!hosts.isEmpty() && hosts.size() != targets.size())) {
      scope.unsupported(node, path, "host and container need ranges of the same length");
      return;
    }
    for (int i = 0; i < targets.size(); i++) {
      Optional<Integer> chosen = hosts.isEmpty() ? Optional.empty() : Optional.of(hosts.get(i));
      add(new Port(ip, chosen, targets.get(i), protocol));
    }
  }

  private String value(YamlNode.Mapping mapping, String key) {
    return mapping.find(key).map(entry -> scope.text(entry.value())).orElse("");
  }

  private static List<Integer> range(String text) {
    try {
      String[] ends = text.split("-", 2);
      int first = Integer.parseInt(ends[0]);
      int last = ends.length == 1 ? first : Integer.parseInt(ends[1]);
      var numbers = new ArrayList<Integer>();
      for (int number = first; number <= last && numbers.size() < MOST_PORTS; number++) {
        numbers.add(number);
      }
      return numbers;
    } catch (NumberFormatException _) {
      return List.of();
    }
  }

  private void add(Port port) {
    boolean everywhere = ALL_ADDRESSES.contains(port.ip());
    boolean local = LOOPBACK.contains(port.ip());
    var out = new LinkedHashMap<String, Object>();
    if (!job && port.host().isPresent() && (everywhere || local)) {
      out.put("name", "%s-%d".formatted(port.protocol(), port.host().get()));
      out.put("protocol", port.protocol());
      out.put("port", port.host().get());
      if (port.target() != port.host().get()) {
        out.put("target_port", port.target());
      }
      out.put("expose", local ? "internal" : "public");
      endpoints.add(out);
      return;
    }
    port.host().ifPresent(host -> out.put("host_port", host));
    out.put("container_port", port.target());
    if (!port.protocol().equals("tcp")) {
      out.put("protocol", port.protocol());
    }
    if (!everywhere) {
      out.put("host_ip", port.ip());
    }
    mappings.add(out);
  }

  void into(Map<String, Object> service) {
    if (!endpoints.isEmpty()) {
      service.put("endpoints", endpoints);
    }
    if (!mappings.isEmpty()) {
      service.put("port_mappings", mappings);
    }
  }
}
