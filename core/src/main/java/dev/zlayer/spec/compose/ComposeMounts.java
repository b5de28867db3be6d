package dev.zlayer.spec.compose;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.yaml.YamlNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Volumes, tmpfs, configs and secrets of a service. */
final class ComposeMounts {
  private static final Set<String> HARMLESS =
      Set.of("rw", "nocopy", "cached", "delegated", "consistent", "rprivate");

  private final ComposeScope scope;
  private final List<Map<String, Object>> storage = new ArrayList<>();
  private final List<Map<String, Object>> secrets = new ArrayList<>();

  ComposeMounts(ComposeScope scope) {
    this.scope = scope;
  }

  void volumes(YamlNode node, SpecPath path) {
    if (!(node instanceof YamlNode.Sequence(_, var items))) {
      scope.unsupported(node, path, "volumes are a list");
      return;
    }
    for (int i = 0; i < items.size(); i++) {
      if (items.get(i) instanceof YamlNode.Mapping mapping) {
        volume(mapping, path.index(i));
      } else {
        volume(items.get(i), path.index(i));
      }
    }
  }

  private void volume(YamlNode node, SpecPath path) {
    String[] parts = scope.text(node).split(":", -1);
    if (parts.length > 3 || parts[0].isEmpty()) {
      scope.unsupported(node, path, "is not [SOURCE:]TARGET[:MODE]");
      return;
    }
    boolean readOnly = false;
    for (String option : parts.length == 3 ? parts[2].split(",", -1) : new String[0]) {
      if (option.equals("ro")) {
        readOnly = true;
      } else if (!HARMLESS.contains(option)) {
        scope.unsupported(node, path, "mount option '%s' is not supported".formatted(option));
      }
    }
    if (parts.length == 1) {
      storage.add(mount("anonymous", parts[0]));
    } else if (isPath(parts[0])) {
      bind(parts[0], parts[1], readOnly);
    } else {
      named(parts[0], parts[1], readOnly, node, path);
    }
  }

  private void volume(YamlNode.Mapping node, SpecPath path) {
    String type = value(node, "type");
    String target = value(node, "target");
    String source = value(node, "source");
    boolean readOnly = scope.isTrue(node, "read_only");
    for (YamlNode.Entry entry : node.entries()) {
      String key = entry.key().text();
      boolean fine =
          switch (key) {
            case "type", "target", "source", "read_only", "consistency" -> true;
            case "tmpfs" -> type.equals("tmpfs");
            case "volume", "bind" ->
                entry.value() instanceof YamlNode.Mapping settings
                    && Set.of("nocopy", "create_host_path")
                        .containsAll(settings.members().keySet());
            default -> false;
          };
      if (!fine) {
        scope.unsupported(entry.value(), path.key(key), "this mount option is not supported");
      }
    }
    switch (type) {
      case "bind" -> bind(source, target, readOnly);
      case "volume" -> {
        if (source.isEmpty()) {
          storage.add(mount("anonymous", target));
        } else {
          named(source, target, readOnly, node, path);
        }
      }
      case "tmpfs" -> {
        Map<String, Object> made = mount("tmpfs", target);
        node.find("tmpfs")
            .map(YamlNode.Entry::value)
            .filter(YamlNode.Mapping.class::isInstance)
            .flatMap(settings -> ((YamlNode.Mapping) settings).find("size"))
            .ifPresent(entry -> size(made, scope.text(entry.value()), entry.value(), path));
        storage.add(made);
      }
      default -> scope.unsupported(node, path.key("type"), "mounts of type '%s'".formatted(type));
    }
  }

  private String value(YamlNode.Mapping node, String key) {
    return node.find(key).map(entry -> scope.text(entry.value())).orElse("");
  }

  private static boolean isPath(String source) {
    return source.startsWith(".") || source.startsWith("/") || source.startsWith("~");
  }

  private void bind(String source, String target, boolean readOnly) {
    Map<String, Object> made = mount("bind", target);
    String home = scope.variable("HOME").orElse("~");
    made.put("source", source.startsWith("~") ? home + source.substring(1) : source);
    if (readOnly) {
      made.put("readonly", true);
    }
    storage.add(made);
  }

  private void named(String name, String target, boolean readOnly, YamlNode node, SpecPath path) {
    Optional<String> volume = scope.volume(name, node, path);
    if (volume.isPresent()) {
      Map<String, Object> made = mount("named", target);
      made.put("name", volume.get());
      if (readOnly) {
        made.put("readonly", true);
      }
      storage.add(made);
    }
  }

  private static Map<String, Object> mount(String type, String target) {
    var made = new LinkedHashMap<String, Object>();
    made.put("type", type);
    made.put("target", target);
    return made;
  }

  void tmpfs(YamlNode node, SpecPath path) {
    for (String text : scope.texts(node)) {
      String[] parts = text.split(":", 2);
      Map<String, Object> made = mount("tmpfs", parts[0]);
      for (String option : parts.length == 2 ? parts[1].split(",", -1) : new String[0]) {
        if (option.startsWith("size=")) {
          size(made, option.substring("size=".length()), node, path);
        } else if (option.startsWith("mode=") && option.matches("mode=[0-7]+")) {
          made.put("mode", Integer.parseInt(option.substring("mode=".length()), 8));
        } else {
          scope.unsupported(node, path, "mount option '%s' is not supported".formatted(option));
        }
      }
      storage.add(made);
    }
  }

  private void size(Map<String, Object> made, String text, YamlNode node, SpecPath path) {
    try {
      made.put("size", Words.size(text));
    } catch (AgentException.InvalidSpec e) {
      scope.unsupported(node, path, Words.reason(e));
    }
  }

  void configs(YamlNode node, SpecPath path) {
    for (Reference config : references(node, path)) {
      Optional<String> file = scope.config(config.source(), node, path);
      if (file.isPresent()) {
        bind(
            isPath(file.get()) ? file.get() : "./" + file.get(),
            config.target().orElse("/" + config.source()),
            true);
      }
    }
  }

  void secrets(YamlNode node, SpecPath path) {
    for (Reference secret : references(node, path)) {
      scope.secret(secret.source(), node, path);
      var made = new LinkedHashMap<String, Object>();
      made.put("name", secret.source());
      secret
          .target()
          .map(target -> target.startsWith("/") ? target : "/run/secrets/" + target)
          .ifPresent(target -> made.put("target", target));
      secret.mode().ifPresent(mode -> made.put("mode", mode));
      secrets.add(made);
    }
  }

  /** Of a config or a secret. */
  private record Reference(String source, Optional<String> target, Optional<Integer> mode) {}

  private List<Reference> references(YamlNode node, SpecPath path) {
    var found = new ArrayList<Reference>();
    if (!(node instanceof YamlNode.Sequence(_, var items))) {
      scope.unsupported(node, path, "write a list");
      return found;
    }
    for (int i = 0; i < items.size(); i++) {
      if (items.get(i) instanceof YamlNode.Mapping mapping) {
        for (YamlNode.Entry entry : mapping.entries()) {
          String key = entry.key().text();
          if ((key.equals("uid") || key.equals("gid")) && !scope.text(entry.value()).equals("0")) {
            scope.unsupported(entry.value(), path.index(i).key(key), "these files belong to root");
          }
        }
        String mode = value(mapping, "mode");
        found.add(
            new Reference(
                value(mapping, "source"),
                Optional.of(value(mapping, "target")).filter(target -> !target.isEmpty()),
                mode.matches("0?o?[0-7]{3,4}")
                    ? Optional.of(Integer.parseInt(mode.replace("o", ""), 8))
                    : Optional.empty()));
      } else {
        found.add(new Reference(scope.text(items.get(i)), Optional.empty(), Optional.empty()));
      }
    }
    return found;
  }

  void into(Map<String, Object> service) {
    if (!storage.isEmpty()) {
      service.put("storage", storage);
    }
    if (!secrets.isEmpty()) {
      service.put("secrets", secrets);
    }
  }
}
