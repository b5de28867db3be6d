package dev.zlayer.spec.compose;

import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.yaml.YamlNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.Optional;
import java.util.Set;

/** {@code extends}: a service with what it takes from another one of the same file. Pure. */
final class Extension {
  /** Lists that are one value. */
  private static final Set<String> WHOLE = Set.of("command", "entrypoint", "test");

  private Extension() {}

  static YamlNode.Mapping resolve(
      String name, YamlNode.Mapping services, ComposeScope scope, Set<String> under) {
    var service = (YamlNode.Mapping) services.find(name).orElseThrow().value();
    Optional<YamlNode> extended = service.find("extends").map(YamlNode.Entry::value);
    if (extended.isEmpty()) {
      return service;
    }
    SpecPath path = SpecPath.ROOT.key("services").key(name).key("extends");
    YamlNode node = extended.get();
    Optional<String> base =
        node instanceof YamlNode.Mapping mapping
            ? mapping.find("service").map(entry -> scope.text(entry.value()))
            : Optional.of(scope.text(node));
    if (node instanceof YamlNode.Mapping mapping && mapping.find("file").isPresent()) {
      scope.unsupported(node, path, "services of other files are not read; copy it into this file");
    } else if (base.isEmpty()
        || !(services.find(base.get()).map(YamlNode.Entry::value).orElse(null)
            instanceof YamlNode.Mapping)) {
      scope.unsupported(node, path, "there is no service '%s'".formatted(base.orElse("")));
    } else if (!under.add(name)) {
      scope.unsupported(node, path, "the service extends itself");
    } else {
      return without(merged(resolve(base.get(), services, scope, under), service));
    }
    return without(service);
  }

  private static YamlNode.Mapping without(YamlNode.Mapping service) {
    var members = new LinkedHashMap<>(service.members());
    members.remove("extends");
    return new YamlNode.Mapping(service.position(), members);
  }

  /** Mappings by key, lists one after the other, else the nearer value. */
  static YamlNode.Mapping merged(YamlNode.Mapping base, YamlNode.Mapping over) {
    var members = new LinkedHashMap<>(base.members());
    for (YamlNode.Entry entry : over.entries()) {
      members.merge(
          entry.key().text(),
          entry,
          (below, above) ->
              new YamlNode.Entry(
                  above.key(),
                  WHOLE.contains(entry.key().text())
                      ? above.value()
                      : merged(below.value(), above.value())));
    }
    return new YamlNode.Mapping(over.position(), members);
  }

  private static YamlNode merged(YamlNode below, YamlNode above) {
    if (below instanceof YamlNode.Mapping one && above instanceof YamlNode.Mapping two) {
      return merged(one, two);
    }
    if (below instanceof YamlNode.Sequence one && above instanceof YamlNode.Sequence two) {
      var items = new ArrayList<>(one.items());
      items.addAll(two.items());
      return new YamlNode.Sequence(two.position(), items);
    }
    return above;
  }
}
