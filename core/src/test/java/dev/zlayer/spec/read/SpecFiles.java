package dev.zlayer.spec.read;

import static org.assertj.core.api.Assertions.assertThat;

import com.networknt.schema.InputFormat;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.spec.problem.Problem;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.yaml.YamlNode;
import dev.zlayer.spec.yaml.YamlReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;

/** Deployment files of the repository, and an independent judge for the schema. */
final class SpecFiles {
  static final Path EXAMPLES = Path.of("../examples");
  static final Path BAD = Path.of("src/test/resources/bad");

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private SpecFiles() {}

  static List<Path> in(Path directory) {
    try (var files = java.nio.file.Files.list(directory)) {
      return files.filter(file -> file.toString().endsWith(".zlayer.yml")).sorted().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static byte[] bytes(Path file) {
    try {
      return java.nio.file.Files.readAllBytes(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static String text(Path file) {
    return new String(bytes(file), StandardCharsets.UTF_8);
  }

  static SpecResult read(String text) {
    return SpecReader.read("test.zlayer.yml", text.getBytes(StandardCharsets.UTF_8));
  }

  /** Whatever it is, it takes little of the processor, however busy that is. */
  static SpecResult readQuickly(byte[] content, String what) {
    long before = THREADS.getCurrentThreadCpuTime();
    SpecResult result = SpecReader.read("test.zlayer.yml", content);
    Duration used = Duration.ofNanos(THREADS.getCurrentThreadCpuTime() - before);
    assertThat(used).as("time of the processor for %s", what).isLessThan(Duration.ofSeconds(2));
    return result;
  }

  static SpecResult.Valid valid(String text) {
    return switch (read(text)) {
      case SpecResult.Valid valid -> valid;
      case SpecResult.Invalid(var problems) -> throw new AssertionError(problems.toString());
    };
  }

  static List<String> problems(String text) {
    return switch (read(text)) {
      case SpecResult.Valid _ -> List.of();
      case SpecResult.Invalid(var problems) -> problems.stream().map(Problem::toString).toList();
    };
  }

  /** Complaints of the schema about a file. */
  static List<String> schemaErrors(Schema schema, byte[] content) {
    YamlNode root = YamlReader.read(content, new Problems("test")).orElseThrow();
    return schema.validate(JsonText.print(json(root)), InputFormat.JSON).stream()
        .map(Object::toString)
        .toList();
  }

  static Schema schema() {
    return registry().getSchema(JsonSchema.generate(), InputFormat.JSON);
  }

  static SchemaRegistry registry() {
    return SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12);
  }

  private static Json json(YamlNode node) {
    return switch (node) {
      case YamlNode.Mapping(_, var written) -> {
        var members = new LinkedHashMap<String, Json>();
        written.forEach((key, entry) -> members.put(key, json(entry.value())));
        yield new Json.Obj(members);
      }
      case YamlNode.Sequence(_, var items) ->
          new Json.Arr(items.stream().map(SpecFiles::json).toList());
      case YamlNode.Scalar scalar ->
          switch (scalar.scalarKind()) {
            case NULL -> Json.Null.INSTANCE;
            case BOOLEAN -> new Json.Bool(scalar.bool());
            case INTEGER -> new Json.Num(new BigDecimal(scalar.integer()));
            case DECIMAL -> new Json.Num(new BigDecimal(scalar.text()));
            case TEXT -> new Json.Str(scalar.text());
          };
    };
  }
}
