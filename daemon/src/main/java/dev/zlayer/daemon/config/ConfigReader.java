package dev.zlayer.daemon.config;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.bind.Binder;
import dev.zlayer.spec.bind.Shape;
import dev.zlayer.spec.bind.Shapes;
import dev.zlayer.spec.problem.Position;
import dev.zlayer.spec.problem.Problem;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.yaml.YamlNode;
import dev.zlayer.spec.yaml.YamlNode.Entry;
import dev.zlayer.spec.yaml.YamlNode.Mapping;
import dev.zlayer.spec.yaml.YamlNode.Scalar;
import dev.zlayer.spec.yaml.YamlNode.ScalarKind;
import dev.zlayer.spec.yaml.YamlNode.Sequence;
import dev.zlayer.spec.yaml.YamlReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Puts the layers of a configuration together; reports all that is wrong with any of them. */
public final class ConfigReader {
  private static final Shape.Block SHAPE = Shapes.block(AgentConfig.class);

  private final List<Problem> problems = new ArrayList<>();
  private final Map<String, Entry> merged = new LinkedHashMap<>();
  private final Map<String, String> sources = new LinkedHashMap<>();

  private ConfigReader() {}

  /**
   * Reads a configuration.
   *
   * @param file has to exist when given; none is fine
   * @param env variables that begin with {@code ZLAYER_} and name a key count
   * @param defaults by key, instead of the usual ones; the weakest
   * @param flags by key; the strongest
   * @throws AgentException.Configuration with every problem, one per line
   */
  public static Configured read(
      Optional<Path> file,
      Map<String, String> defaults,
      Map<String, String> env,
      Map<String, String> flags) {
    var reader = new ConfigReader();
    for (Shape.Field field : SHAPE.fields()) {
      if (defaults.containsKey(field.name())) {
        reader.add(field, defaults.getOrDefault(field.name(), ""), "default");
      }
    }
    file.ifPresent(reader::addFile);
    for (Shape.Field field : SHAPE.fields()) {
      String variable = variable(field.name());
      String value = env.get(variable);
      if (value != null && !value.isEmpty()) {
        reader.add(field, value, "variable " + variable);
      }
    }
    flags.forEach(reader::addFlag);
    return reader.result();
  }

  /** The same with the usual defaults. */
  public static Configured read(
      Optional<Path> file, Map<String, String> env, Map<String, String> flags) {
    return read(file, Map.of(), env, flags);
  }

  static AgentConfig defaults(Path directory) {
    return read(Optional.empty(), Map.of(), Map.of("data_dir", directory.toString())).config();
  }

  public static List<Shape.Field> fields() {
    return SHAPE.fields();
  }

  public static String variable(String key) {
    return "ZLAYER_" + key.toUpperCase(Locale.ROOT);
  }

  public static String flag(String key) {
    return "--" + key.replace('_', '-');
  }

  private void addFile(Path file) {
    byte[] content;
    try {
      content = Files.readAllBytes(file);
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "the configuration %s cannot be read: %s".formatted(file, e.getMessage()), e);
    }
    if (new String(content, java.nio.charset.StandardCharsets.UTF_8)
        .lines()
        .allMatch(ConfigReader::empty)) {
      return;
    }
    var found = new Problems(file.toString());
    Optional<YamlNode> root = YamlReader.read(content, found);
    root.ifPresent(node -> check(node, found));
    problems.addAll(found.sorted());
    if (root.isPresent() && root.get() instanceof Mapping mapping) {
      for (Entry entry : mapping.entries()) {
        merged.put(entry.key().text(), entry);
        sources.put(entry.key().text(), "%s:%d".formatted(file, entry.key().position().line()));
      }
    }
  }

  private static boolean empty(String line) {
    return line.isBlank() || line.strip().startsWith("#");
  }

  private void addFlag(String key, String value) {
    Optional<Shape.Field> field =
        SHAPE.fields().stream().filter(known -> known.name().equals(key)).findFirst();
    if (field.isEmpty()) {
      problems.add(new Problem("flag " + flag(key), 1, 1, "", "there is no such setting"));
    } else {
      add(field.get(), value, "flag " + flag(key));
    }
  }

  private void add(Shape.Field field, String text, String source) {
    YamlNode value = node(field.shape(), text);
    var entry = new Entry(scalar(field.name()), value);
    var found = new Problems(source);
    check(new Mapping(Position.START, Map.of(field.name(), entry)), found);
    problems.addAll(found.sorted());
    merged.put(field.name(), entry);
    sources.put(field.name(), source);
  }

  private static void check(YamlNode root, Problems found) {
    AgentConfig config = new Binder(root, found).bind(AgentConfig.class);
    NotificationConfig.check(config.notifications(), root, found);
  }

  private static YamlNode node(Shape shape, String text) {
    if (shape instanceof Shape.ListOf(Shape.Block _, boolean _)) {
      return YamlReader.read(text, new Problems("")).orElseGet(() -> scalar(text));
    }
    if (shape instanceof Shape.ListOf) {
      return new Sequence(
          Position.START,
          Arrays.stream(text.split(",", -1)).<YamlNode>map(part -> scalar(part.strip())).toList());
    }
    boolean plain = shape instanceof Shape.Whole || shape instanceof Shape.Bool;
    return plain
        ? YamlReader.read(text, new Problems("")).orElseGet(() -> scalar(text))
        : scalar(text);
  }

  private static Scalar scalar(String text) {
    return new Scalar(Position.START, text, ScalarKind.TEXT);
  }

  private Configured result() {
    if (!problems.isEmpty()) {
      throw new AgentException.Configuration(
          "the configuration has to be corrected:\n"
              + problems.stream().map(Problem::toString).collect(Collectors.joining("\n")));
    }
    var root = new Mapping(Position.START, merged);
    var config = new Binder(root, new Problems("")).bind(AgentConfig.class);
    var values = new LinkedHashMap<String, Configured.Value>();
    for (Shape.Field field : SHAPE.fields()) {
      String text =
          Optional.ofNullable(merged.get(field.name()))
              .map(entry -> print(entry.value()))
              .or(field::defaultText)
              .orElse("");
      values.put(
          field.name(), new Configured.Value(text, sources.getOrDefault(field.name(), "default")));
    }
    return new Configured(config, values);
  }

  private static String print(YamlNode node) {
    if (node instanceof Scalar scalar) {
      return scalar.text(); // nearly all are: without the switch, which is made at its first use
    }
    return switch (node) {
      case Scalar scalar -> scalar.text();
      case Sequence(_, var items) ->
          items.stream().map(ConfigReader::print).collect(Collectors.joining(","));
      case Mapping mapping ->
          mapping.entries().stream()
              .map(entry -> entry.key().text() + ": " + print(entry))
              .collect(Collectors.joining(", ", "{", "}"));
    };
  }

  /** The path of a webhook is a credential. */
  private static String print(Entry entry) {
    return entry.key().text().equals("webhook") && entry.value() instanceof Scalar url
        ? WebhookUrl.parse(url.text()).toString()
        : print(entry.value());
  }
}
