package dev.zlayer.spec.bind;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.spec.DeploymentSpec;
import java.util.HashSet;
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
