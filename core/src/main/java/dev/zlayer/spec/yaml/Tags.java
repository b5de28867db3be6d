package dev.zlayer.spec.yaml;

import dev.zlayer.spec.problem.Position;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.yaml.YamlNode.Entry;
import dev.zlayer.spec.yaml.YamlNode.Mapping;
import dev.zlayer.spec.yaml.YamlNode.Scalar;
import dev.zlayer.spec.yaml.YamlNode.ScalarKind;
import java.util.Map;
import java.util.Set;

/**
 * The few explicit tags that are understood. The standard ones may only confirm what the value is;
 * {@code !pin VALUE} is the short way to write the mapping {@code pin: VALUE}; all others are
 * refused, because a tag asks the reader to make something we did not define.
 */
final class Tags {
  private static final String STANDARD = "tag:yaml.org,2002:";
  private static final String PIN = "!pin";
  private static final Set<String> COLLECTIONS = Set.of(STANDARD + "map", STANDARD + "seq");
  private static final Map<String, Set<ScalarKind>> SCALARS =
      Map.of(
          STANDARD + "null", Set.of(ScalarKind.NULL),
          STANDARD + "bool", Set.of(ScalarKind.BOOLEAN),
          STANDARD + "int", Set.of(ScalarKind.INTEGER),
          STANDARD + "float", Set.of(ScalarKind.INTEGER, ScalarKind.DECIMAL));

  private Tags() {}

  static YamlNode tagged(
      Position position, String text, String tag, SpecPath path, Problems problems) {
    if (tag.equals(STANDARD + "str") || tag.equals("!")) {
      return Scalar.quoted(position, text);
    }
    if (tag.equals(PIN)) {
      return new Mapping(
          position,
          Map.of("pin", new Entry(Scalar.quoted(position, "pin"), Scalar.quoted(position, text))));
    }
    Scalar scalar = Scalar.plain(position, text);
    Set<ScalarKind> kinds = SCALARS.get(tag);
    if (kinds == null) {
      refuse(position, tag, path, problems);
    } else if (!kinds.contains(scalar.scalarKind())) {
      problems.add(position, path, "the value is not what its tag %s says".formatted(shown(tag)));
    }
    return scalar;
  }

  static void checkCollection(Position position, String tag, SpecPath path, Problems problems) {
    if (!COLLECTIONS.contains(tag) && !tag.equals("!")) {
      refuse(position, tag, path, problems);
    }
  }

  private static void refuse(Position position, String tag, SpecPath path, Problems problems) {
    problems.add(
        position,
        path,
        "the tag %s is not known, write the value without it".formatted(shown(tag)));
  }

  private static String shown(String tag) {
    String text = tag.startsWith(STANDARD) ? "!!" + tag.substring(STANDARD.length()) : tag;
    return text.length() > 40 ? text.substring(0, 40) + "…" : text;
  }
}
