package dev.zlayer.spec.bind;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.problem.Nearest;
import dev.zlayer.spec.problem.Position;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.yaml.YamlNode;
import dev.zlayer.spec.yaml.YamlNode.Scalar;
import dev.zlayer.spec.yaml.YamlNode.ScalarKind;
import dev.zlayer.spec.yaml.YamlNode.Sequence;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/** Reads single values. Nothing is converted silently: a number is not a text. */
final class Scalars {
  private static final int SHOWN = 40;

  private final Problems problems;

  Scalars(Problems problems) {
    this.problems = problems;
  }

  Object text(Shape.Text shape, YamlNode node, SpecPath path) {
    if (!(node instanceof Scalar scalar)) {
      return mismatch(shape, node, path);
    }
    switch (scalar.scalarKind()) {
      case TEXT -> checkForm(shape.form(), scalar, path);
      case NULL -> problems.add(node.position(), path, "has no value, write \"\" if that is meant");
      case BOOLEAN, INTEGER, DECIMAL ->
          problems.add(
              node.position(),
              path,
              "must be text, not %s, write \"%s\" in quotes".formatted(node.kind(), shown(scalar)));
    }
    return scalar.text();
  }

  private void checkForm(Optional<Shape.Form> form, Scalar scalar, SpecPath path) {
    if (!nul(scalar, path)
        && form.isPresent()
        && !Pattern.matches(form.get().pattern(), scalar.text())) {
      problems.add(
          scalar.position(),
          path,
          "'%s' does not fit, write %s".formatted(shown(scalar), form.get().write()));
    }
  }

  /** The key of a map; any scalar can be one. */
  Object key(Shape shape, Scalar key, SpecPath path) {
    return switch (shape) {
      case Shape.Value value -> parsed(value, key, path);
      case Shape.Text(var form) -> {
        checkForm(form, key, path);
        yield key.text();
      }
      default -> throw new AgentException.Internal("keys cannot be " + shape.describe(), null);
    };
  }

  Object whole(Shape.Whole shape, YamlNode node, SpecPath path) {
    if (!(node instanceof Scalar scalar) || scalar.scalarKind() != ScalarKind.INTEGER) {
      return mismatch(shape, node, path);
    }
    BigInteger number = scalar.integer();
    boolean fits =
        number.compareTo(BigInteger.valueOf(shape.min())) >= 0
            && number.compareTo(BigInteger.valueOf(shape.max())) <= 0;
    if (!fits) {
      problems.add(
          node.position(),
          path,
          "%s is out of range, write %s".formatted(shown(scalar), shape.describe()));
      return Placeholders.in(shape);
    }
    return shape.type() == Integer.class ? (Object) number.intValue() : number.longValue();
  }

  Object decimal(Shape.Decimal shape, YamlNode node, SpecPath path) {
    boolean number =
        node instanceof Scalar scalar
            && (scalar.scalarKind() == ScalarKind.INTEGER
                || scalar.scalarKind() == ScalarKind.DECIMAL)
            && !scalar.text().startsWith("0x")
            && !scalar.text().startsWith("0o");
    if (!number) {
      return mismatch(shape, node, path);
    }
    String text = ((Scalar) node).text();
    double value = text.contains("n") || text.contains("N") ? Double.NaN : Double.parseDouble(text);
    if (!(value > 0 && value < Double.POSITIVE_INFINITY)) {
      problems.add(
          node.position(),
          path,
          "%s is out of range, write %s".formatted(shown((Scalar) node), shape.describe()));
      return Placeholders.in(shape);
    }
    return value;
  }

  Object bool(Shape.Bool shape, YamlNode node, SpecPath path) {
    return node instanceof Scalar scalar && scalar.scalarKind() == ScalarKind.BOOLEAN
        ? (Object) scalar.bool()
        : mismatch(shape, node, path);
  }

  Object choice(Shape.Choice shape, YamlNode node, SpecPath path) {
    if (!(node instanceof Scalar scalar) || scalar.scalarKind() == ScalarKind.NULL) {
      return mismatch(shape, node, path);
    }
    Object constant = shape.constants().get(scalar.text());
    if (constant != null) {
      return constant;
    }
    problems.add(
        node.position(),
        path,
        "'%s' is not known%s".formatted(shown(scalar), Nearest.hint(scalar.text(), shape.words())));
    return Placeholders.in(shape);
  }

  Object value(Shape.Value shape, YamlNode node, SpecPath path) {
    if (node instanceof Sequence(_, var items) && shape.form().list()) {
      return words(shape, items, node.position(), path);
    }
    if (!(node instanceof Scalar scalar)) {
      return mismatch(shape, node, path);
    }
    if (scalar.scalarKind() == ScalarKind.NULL) {
      problems.add(node.position(), path, noValue(shape.form()));
      return Placeholders.in(shape);
    }
    if (scalar.scalarKind() != ScalarKind.TEXT && !shape.form().number()) {
      problems.add(
          node.position(),
          path,
          "must be %s, not %s, write \"%s\" in quotes"
              .formatted(shape.describe(), node.kind(), shown(scalar)));
      return Placeholders.in(shape);
    }
    return parsed(shape, scalar, path);
  }

  private static String noValue(ValueForm form) {
    return form.is().equals("text")
        ? "has no value, write \"\" if that is meant"
        : "has no value, write %s such as %s".formatted(form.is(), form.example());
  }

  private Object words(Shape.Value shape, List<YamlNode> items, Position position, SpecPath path) {
    var words = new ArrayList<String>();
    for (YamlNode item : items) {
      SpecPath child = path.index(words.size());
      words.add(String.valueOf(text(new Shape.Text(Optional.empty()), item, child)));
    }
    try {
      return shape.form().parseList().apply(words);
    } catch (AgentException.InvalidSpec e) {
      problems.add(position, path, String.valueOf(e.getMessage()));
      return Placeholders.in(shape);
    }
  }

  /** It ends every path, argument and variable for the kernel. */
  private boolean nul(Scalar scalar, SpecPath path) {
    boolean found = scalar.text().indexOf('\0') >= 0;
    if (found) {
      problems.add(scalar.position(), path, "has a NUL character, write it without");
    }
    return found;
  }

  private Object parsed(Shape.Value shape, Scalar scalar, SpecPath path) {
    if (nul(scalar, path)) {
      return Placeholders.in(shape);
    }
    try {
      return shape.form().parse().apply(scalar.text());
    } catch (AgentException.InvalidSpec e) {
      problems.add(scalar.position(), path, String.valueOf(e.getMessage()));
      return Placeholders.in(shape);
    }
  }

  /** Reports that the node is of the wrong kind and gives the stand-in. */
  Object mismatch(Shape shape, YamlNode node, SpecPath path) {
    String advice =
        switch (shape) {
          case Shape.Value value -> ", for example " + value.form().example();
          case Shape.ListOf _ when node instanceof Scalar scalar && !node.isNull() ->
              ", write [%s]".formatted(String.join(", ", shown(scalar).split("\\s+")));
          case Shape.MapOf _ when node instanceof Sequence -> ", write 'name: value' lines";
          default -> "";
        };
    problems.add(
        node.position(),
        path,
        "must be %s, not %s%s".formatted(shape.describe(), node.kind(), advice));
    return Placeholders.in(shape);
  }

  private static String shown(Scalar scalar) {
    String text = scalar.text();
    return text.length() > SHOWN ? text.substring(0, SHOWN) + "…" : text;
  }
}
