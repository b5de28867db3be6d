package dev.zlayer.spec.bind;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.bind.Shape.Block;
import dev.zlayer.spec.bind.Shape.Field;
import dev.zlayer.spec.problem.Position;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.yaml.YamlNode;
import dev.zlayer.spec.yaml.YamlNode.Scalar;
import dev.zlayer.spec.yaml.YamlReader;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Values for keys that are absent or could not be read. */
final class Placeholders {
  private Placeholders() {}

  /** What an absent key stands for. */
  static Object absent(Field field) {
    if (field.optional()) {
      return Optional.empty();
    }
    if (field.defaultValue().isEmpty() && field.shape() instanceof Shape.ListOf) {
      return List.of(); // without the switch below, which a start of the daemon would wait for
    }
    return field.defaultValue().orElseGet(() -> in(field.shape()));
  }

  /** A default, made from its text; one that does not fit is our own mistake. */
  static Object made(Shape shape, String text) {
    var problems = new Problems("default " + text);
    YamlNode node =
        plain(text)
            ? Scalar.plain(Position.START, text)
            : YamlReader.read(text, problems).orElseThrow();
    Object value = new Binder(node, problems).bind(shape, node, SpecPath.ROOT);
    if (!problems.isEmpty()) {
      throw new AgentException.Internal(problems.sorted().toString(), null);
    }
    return value;
  }

  /**
   * Whether it is a scalar without quotes, whoever reads it: the reader takes long to get ready.
   */
  private static boolean plain(String text) {
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      boolean word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      boolean between = c == '_' || c == '/' || c == '.';
      boolean inside = i + 1 < text.length() && (c == ':' || (i > 0 && (c == '-' || c == ',')));
      if (!word && !between && !inside) {
        return false;
      }
    }
    return !text.isEmpty();
  }

  /** Some value of the shape's type, used only to go on after a problem. */
  static Object in(Shape shape) {
    return switch (shape) {
      case Shape.Text _ -> "";
      case Shape.Whole(long min, long max, var type) -> {
        long number = Math.clamp(0L, min, max);
        yield type == Integer.class ? (Object) (int) number : number;
      }
      case Shape.Decimal _ -> 1.0;
      case Shape.Bool _ -> false;
      case Shape.Choice choice -> choice.constants().values().iterator().next();
      case Shape.Value(_, var form) -> form.parse().apply(form.example());
      case Shape.ListOf _ -> List.of();
      case Shape.MapOf _ -> Map.of();
      case Block block ->
          construct(
              block,
              block.fields().stream()
                  .map(field -> field.inline() ? in(field.shape()) : absent(field))
                  .toList());
      case Shape.Union union -> in(union.variants().values().iterator().next());
    };
  }

  static Object construct(Block block, List<Object> values) {
    try {
      Object made = ShapeFacts.make(block.type(), values.toArray());
      if (made != null) {
        return made;
      }
    } catch (RuntimeException e) {
      throw new AgentException.Internal("cannot make a " + block.type().getSimpleName(), e);
    }
    try {
      return block.constructor().newInstance(values.toArray());
    } catch (ReflectiveOperationException e) {
      throw new AgentException.Internal("cannot make a " + block.type().getSimpleName(), e);
    }
  }
}
