package dev.zlayer.engine.deployment;

import dev.zlayer.engine.deployment.DeploymentDiff.ValueChange;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.yaml.YamlNode;
import dev.zlayer.spec.yaml.YamlNode.Entry;
import dev.zlayer.spec.yaml.YamlNode.Mapping;
import dev.zlayer.spec.yaml.YamlNode.Scalar;
import dev.zlayer.spec.yaml.YamlNode.Sequence;
import dev.zlayer.spec.yaml.YamlReader;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** Compares the values of a service in two files, as people wrote them. Pure. */
final class ValueDiff {
  private final List<ValueChange> changes = new ArrayList<>();

  private ValueDiff() {}

  /**
   * The values that differ.
   *
   * @param fields keys of the service to compare: those that mean something else now
   */
  static List<ValueChange> of(String service, List<String> fields, String before, String after) {
    var diff = new ValueDiff();
    Optional<YamlNode> old = service(before, service);
    Optional<YamlNode> fresh = service(after, service);
    for (String field : fields) {
      diff.compare(
          field, old.flatMap(node -> member(node, field)), fresh.flatMap(n -> member(n, field)));
    }
    return diff.changes;
  }

  private static Optional<YamlNode> service(String file, String name) {
    return YamlReader.read(file, new Problems("file"))
        .flatMap(root -> member(root, "services"))
        .flatMap(services -> member(services, name));
  }

  private static Optional<YamlNode> member(YamlNode node, String key) {
    return node instanceof Mapping mapping
        ? mapping.find(key).map(Entry::value).filter(value -> !value.isNull())
        : Optional.empty();
  }

  private void compare(String path, Optional<YamlNode> before, Optional<YamlNode> after) {
    if (before.map(ValueDiff::text).equals(after.map(ValueDiff::text))) {
      return;
    }
    if (before.orElse(null) instanceof Mapping old && after.orElse(null) instanceof Mapping fresh) {
      Set<String> keys = new LinkedHashSet<>(old.members().keySet());
      keys.addAll(fresh.members().keySet());
      keys.forEach(key -> compare(path + "." + key, member(old, key), member(fresh, key)));
    } else if (before.orElse(null) instanceof Sequence old
        && after.orElse(null) instanceof Sequence fresh
        && old.items().size() == fresh.items().size()) {
      for (int i = 0; i < old.items().size(); i++) {
        compare(
            path + "[" + i + "]",
            Optional.of(old.items().get(i)),
            Optional.of(fresh.items().get(i)));
      }
    } else {
      changes.add(new ValueChange(path, before.map(ValueDiff::text), after.map(ValueDiff::text)));
    }
  }

  /** On one line, as YAML would have it. */
  private static String text(YamlNode node) {
    return switch (node) {
      case Scalar scalar -> scalar.text();
      case Sequence(_, var items) ->
          items.stream().map(ValueDiff::text).collect(Collectors.joining(", ", "[", "]"));
      case Mapping mapping ->
          mapping.entries().stream()
              .map(entry -> entry.key().text() + ": " + text(entry.value()))
              .collect(Collectors.joining(", ", "{", "}"));
    };
  }
}
