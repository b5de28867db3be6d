package dev.zlayer.spec.compose;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.yaml.YamlNode;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** What the services of one Compose file share: variables, reports, and what they refer to. */
final class ComposeScope {
  private final String deployment;
  private final Interpolation variables;
  private final ComposeFile.Surroundings surroundings;
  private final YamlNode.Mapping root;
  private final Problems unsupported;
  private final Problems warnings;
  private final Set<String> announced = new LinkedHashSet<>();

  ComposeScope(
      String deployment,
      Interpolation variables,
      ComposeFile.Surroundings surroundings,
      YamlNode.Mapping root,
      Problems unsupported,
      Problems warnings) {
    this.deployment = deployment;
    this.variables = variables;
    this.surroundings = surroundings;
    this.root = root;
    this.unsupported = unsupported;
    this.warnings = warnings;
  }

  String deployment() {
    return deployment;
  }

  void unsupported(YamlNode node, SpecPath path, String reason) {
    unsupported.add(node.position(), path, reason);
  }

  void warn(YamlNode node, SpecPath path, String reason) {
    warnings.add(node.position(), path, reason);
  }

  Optional<String> variable(String name) {
    return variables.find(name);
  }

  /** A scalar with its variables replaced; empty for null and for anything else. */
  String text(YamlNode node) {
    if (!(node instanceof YamlNode.Scalar scalar) || node.isNull()) {
      return "";
    }
    try {
      return variables.apply(scalar.text());
    } catch (AgentException.InvalidSpec e) {
      unsupported.add(node.position(), SpecPath.ROOT, Words.reason(e));
      return "";
    }
  }

  /** {@code NAME: value}, or a list of {@code NAME=value}; a name alone has no value. */
  Map<String, Optional<String>> pairs(YamlNode node, SpecPath path) {
    var found = new LinkedHashMap<String, Optional<String>>();
    switch (node) {
      case YamlNode.Mapping mapping ->
          mapping
              .entries()
              .forEach(
                  entry ->
                      found.put(
                          entry.key().text(),
                          entry.value().isNull()
                              ? Optional.empty()
                              : Optional.of(text(entry.value()))));
      case YamlNode.Sequence(_, var items) -> {
        for (YamlNode item : items) {
          String text = text(item);
          int equals = text.indexOf('=');
          found.put(
              equals < 0 ? text : text.substring(0, equals),
              equals < 0 ? Optional.empty() : Optional.of(text.substring(equals + 1)));
        }
      }
      case YamlNode.Scalar scalar -> {
        if (!scalar.isNull()) {
          unsupported(node, path, "write a mapping or a list of NAME=value");
        }
      }
    }
    return found;
  }

  /** A list of texts, or one text. */
  List<String> texts(YamlNode node) {
    return switch (node) {
      case YamlNode.Sequence(_, var items) -> items.stream().map(this::text).toList();
      case YamlNode.Scalar scalar -> scalar.isNull() ? List.of() : List.of(text(scalar));
      case YamlNode.Mapping _ -> List.of();
    };
  }

  Optional<String> file(String path) {
    return surroundings.files().read(path);
  }

  Map<String, String> environment() {
    return surroundings.variables();
  }

  /** The volume that a name of the file means here; nothing when it has no counterpart. */
  Optional<String> volume(String name, YamlNode node, SpecPath path) {
    Optional<YamlNode> declared = declared("volumes", name);
    if (declared.isEmpty()) {
      unsupported(node, path, "volume '%s' is not declared under 'volumes'".formatted(name));
      return Optional.empty();
    }
    SpecPath at = SpecPath.ROOT.key("volumes").key(name);
    Optional<String> other = Optional.empty();
    if (declared.get() instanceof YamlNode.Mapping settings) {
      boolean external = isTrue(settings, "external");
      other = settings.find("name").map(entry -> text(entry.value()));
      if (external && other.isEmpty()) {
        other = Optional.of(name);
      }
      for (YamlNode.Entry entry : settings.entries()) {
        String key = entry.key().text();
        boolean local = key.equals("driver") && text(entry.value()).equals("local");
        if (key.equals("labels")) {
          once(entry.value(), at.key(key), "volumes have no labels");
        } else if (!local && !Set.of("name", "external").contains(key)) {
          unsupported(entry.value(), at.key(key), "volumes are local directories without options");
        }
      }
    }
    return Optional.of(other.orElseGet(() -> volumeName(deployment + "-" + name)));
  }

  private static String volumeName(String text) {
    return text.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9-]+", "-");
  }

  /** The name of a secret, after a warning how to set it. */
  void secret(String name, YamlNode node, SpecPath path) {
    Optional<YamlNode> declared = declared("secrets", name);
    String source =
        declared
            .filter(YamlNode.Mapping.class::isInstance)
            .map(YamlNode.Mapping.class::cast)
            .flatMap(
                settings ->
                    settings
                        .find("file")
                        .map(entry -> " < " + text(entry.value()))
                        .or(
                            () ->
                                settings
                                    .find("environment")
                                    .map(entry -> " <<< \"$" + text(entry.value()) + "\"")))
            .orElse("");
    if (declared.isEmpty()) {
      unsupported(node, path, "secret '%s' is not declared under 'secrets'".formatted(name));
    } else {
      once(
          declared.get(),
          SpecPath.ROOT.key("secrets").key(name),
          "set it before 'up': zlayer secret set %s --deployment %s%s"
              .formatted(name, deployment, source));
    }
  }

  /** The file that holds a config; nothing when it is not a file. */
  Optional<String> config(String name, YamlNode node, SpecPath path) {
    Optional<String> file =
        declared("configs", name)
            .filter(YamlNode.Mapping.class::isInstance)
            .flatMap(settings -> ((YamlNode.Mapping) settings).find("file"))
            .map(entry -> text(entry.value()));
    if (file.isEmpty()) {
      unsupported(
          node,
          path,
          "config '%s' is not a file; write it to a file and use 'file'".formatted(name));
    }
    return file;
  }

  /** All services share the deployment's network, whatever the file says. */
  void checkNetworks(Map<String, YamlNode.Mapping> services) {
    var used = new LinkedHashSet<String>();
    services.forEach(
        (name, service) -> {
          switch (service.find("networks").map(YamlNode.Entry::value).orElse(null)) {
            case YamlNode.Sequence(_, var items) ->
                items.stream().map(this::text).forEach(used::add);
            case YamlNode.Mapping mapping -> {
              used.addAll(mapping.members().keySet());
              connections(mapping, SpecPath.ROOT.key("services").key(name).key("networks"));
            }
            case null, default -> used.add("default");
          }
        });
    SpecPath all = SpecPath.ROOT.key("networks");
    if (used.size() > 1) {
      YamlNode at = root.find("networks").map(YamlNode.Entry::value).orElse(root);
      warn(at, all, "all services of a deployment share one network: " + String.join(", ", used));
    }
    for (String name : used) {
      if (declared("networks", name).orElse(null) instanceof YamlNode.Mapping settings) {
        for (YamlNode.Entry entry : settings.entries()) {
          network(entry, all.key(name).key(entry.key().text()));
        }
      }
    }
  }

  /** What a service asks for on its networks: names besides its own, addresses, priorities. */
  private void connections(YamlNode.Mapping networks, SpecPath path) {
    for (YamlNode.Entry network : networks.entries()) {
      if (network.value() instanceof YamlNode.Mapping settings) {
        for (YamlNode.Entry entry : settings.entries()) {
          String key = entry.key().text();
          unsupported(
              entry.value(),
              path.key(network.key().text()).key(key),
              key.equals("aliases")
                  ? "services are found by their own names; aliases do not exist"
                  : "the network of a deployment has no such setting");
        }
      }
    }
  }

  private void network(YamlNode.Entry entry, SpecPath path) {
    String value = text(entry.value());
    boolean fine =
        switch (entry.key().text()) {
          case "name", "attachable", "labels" -> true;
          case "driver" -> value.equals("bridge") || value.equals("default");
          case "internal", "enable_ipv6", "external" -> value.equals("false");
          default -> false;
        };
    if (!fine) {
      unsupported(entry.value(), path, "the network of a deployment has no such setting");
    }
  }

  /** A remark that several services would repeat. */
  private void once(YamlNode node, SpecPath path, String reason) {
    if (announced.add(path + reason)) {
      warn(node, path, reason);
    }
  }

  private Optional<YamlNode> declared(String section, String name) {
    return root.find(section)
        .map(YamlNode.Entry::value)
        .filter(YamlNode.Mapping.class::isInstance)
        .flatMap(all -> ((YamlNode.Mapping) all).find(name))
        .map(YamlNode.Entry::value);
  }

  boolean isTrue(YamlNode.Mapping node, String key) {
    return node.find(key).map(entry -> text(entry.value()).equalsIgnoreCase("true")).orElse(false);
  }
}
