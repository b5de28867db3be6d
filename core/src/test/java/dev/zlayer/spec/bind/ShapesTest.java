package dev.zlayer.spec.bind;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.yaml.YamlNode;
import dev.zlayer.spec.yaml.YamlReader;
import java.lang.reflect.RecordComponent;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class ShapesTest {
  @Test
  void everyKeyIsDocumentedWrittenInSnakeCaseAndUnique() {
    var seen = new HashSet<Class<?>>();
    walk(Shapes.of(DeploymentSpec.class), seen);
    assertThat(seen).hasSizeGreaterThan(50);
  }

  private static void walk(Shape shape, Set<Class<?>> seen) {
    switch (shape) {
      case Shape.ListOf(var item, _) -> walk(item, seen);
      case Shape.MapOf map -> walk(map.value(), seen);
      case Shape.Union union -> {
        assertThat(union.doc()).as(union.type().getName()).isNotEmpty();
        union.variants().values().forEach(variant -> walk(variant, seen));
      }
      case Shape.Block block -> {
        if (seen.add(block.type())) {
          check(block);
          block.fields().forEach(field -> walk(field.shape(), seen));
        }
      }
      default -> {}
    }
  }

  private static void check(Shape.Block block) {
    assertThat(block.keys()).as(block.type().getName()).doesNotHaveDuplicates();
    for (Shape.Field field : block.flatFields()) {
      String name = block.type().getSimpleName() + "." + field.name();
      assertThat(field.doc()).as(name).matches("[A-Za-z$].*\\.");
      assertThat(field.name()).as(name).matches("[a-z0-9_]+|osVersion");
      assertThat(field.defaultValue().isPresent() && field.optional()).as(name).isFalse();
      if (field.shape() instanceof Shape.Text(var form) && form.isPresent()) {
        assertThat(Pattern.compile(form.get().pattern())).as(name).isNotNull();
      }
    }
  }

  /** Most are not given to the reader of files, for speed. */
  @Test
  void plainDefaultsAreReadAsTheyWereInAFile() {
    var text = new Shape.Text(Optional.empty());
    for (String written :
        List.of(":80", "1:2", "a,b,c", "/var/lib", "10s", "a-b", "x.y:z", "a_b")) {
      assertThat(Placeholders.made(text, written)).as(written).isEqualTo(inAFile(text, written));
    }
    var whole = new Shape.Whole(Long.MIN_VALUE, Long.MAX_VALUE, Long.class);
    for (String written : List.of("0", "85", "-1", "+7", "0x10", "0o17", "007")) {
      assertThat(Placeholders.made(whole, written)).as(written).isEqualTo(inAFile(whole, written));
    }
    for (String written : List.of("true", "False")) {
      assertThat(Placeholders.made(new Shape.Bool(), written))
          .as(written)
          .isEqualTo(inAFile(new Shape.Bool(), written));
    }
    assertThat(Placeholders.made(new Shape.Decimal(), "1.5"))
        .isEqualTo(inAFile(new Shape.Decimal(), "1.5"));
  }

  private static Object inAFile(Shape shape, String text) {
    var problems = new Problems(text);
    YamlNode node = YamlReader.read(text, problems).orElseThrow();
    Object value = new Binder(node, problems).bind(shape, node, SpecPath.ROOT);
    assertThat(problems.isEmpty()).as(text).isTrue();
    return value;
  }

  /** What a distribution knows without annotations, which tools/dist compares with these. */
  @Test
  void theSourceOfFactsHasEveryComponentAndMakesRecords() {
    String source = ShapeSource.of(DeploymentSpec.class);

    for (RecordComponent component : DeploymentSpec.class.getRecordComponents()) {
      assertThat(source)
          .contains("\"" + DeploymentSpec.class.getName() + "#" + component.getName() + "\"");
    }
    assertThat(source).contains("return new " + DeploymentSpec.class.getName() + "(");
  }

  @Test
  void examplesOfTextTypesFitTheirOwnPattern() {
    var seen = new HashSet<Class<?>>();
    examples(Shapes.of(DeploymentSpec.class), seen);
    assertThat(seen).hasSizeGreaterThan(10);
  }

  private static void examples(Shape shape, Set<Class<?>> seen) {
    switch (shape) {
      case Shape.ListOf(var item, _) -> examples(item, seen);
      case Shape.MapOf map -> {
        examples(map.key(), seen);
        examples(map.value(), seen);
      }
      case Shape.Union union -> union.variants().values().forEach(one -> examples(one, seen));
      case Shape.Block block -> block.fields().forEach(field -> examples(field.shape(), seen));
      case Shape.Value(var type, var form) -> {
        seen.add(type);
        assertThat(form.parse().apply(form.example())).isInstanceOf(type);
        assertThat(Pattern.compile(form.pattern()).matcher(form.example()).find()).isTrue();
      }
      default -> {}
    }
  }
}
