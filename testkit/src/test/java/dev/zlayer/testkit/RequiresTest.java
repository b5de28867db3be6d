package dev.zlayer.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDir;

class RequiresTest {
  @Requires(programs = "sh")
  private static class Possible {}

  @Requires(programs = {"sh", "no-such-program"})
  private static class Impossible {}

  private static class Child extends Impossible {}

  @TempDir Path directory;

  @Test
  void runsWhereEverythingIsThere() {
    assertThat(evaluate(Possible.class).isDisabled()).isFalse();
    assertThat(evaluate(String.class).isDisabled()).as("nothing is asked for").isFalse();
  }

  @Test
  void skipsAndNamesWhatIsMissing() {
    ConditionEvaluationResult result = evaluate(Impossible.class);
    assertThat(result.isDisabled()).isTrue();
    assertThat(result.getReason()).contains("this machine lacks the program no-such-program");
  }

  @Test
  void holdsForSubclasses() {
    assertThat(evaluate(Child.class).isDisabled()).isTrue();
  }

  @Test
  void factsAreThoseOfThisMachine() throws Exception {
    assertThat(Fact.ROOT.holds()).isEqualTo(Files.getOwner(directory).getName().equals("root"));
    assertThat(Fact.SKOPEO.holds()).isEqualTo(Fact.program("skopeo"));
    assertThat(Fact.program("sh")).isTrue();
    assertThat(Fact.program("no-such-program")).isFalse();
  }

  private static ConditionEvaluationResult evaluate(Class<?> type) {
    var context =
        (ExtensionContext)
            Proxy.newProxyInstance(
                RequiresTest.class.getClassLoader(),
                new Class<?>[] {ExtensionContext.class},
                (_, method, _) ->
                    switch (method.getName()) {
                      case "getElement" -> Optional.of(type);
                      default -> throw new UnsupportedOperationException(method.getName());
                    });
    return new RequiresCondition().evaluateExecutionCondition(context);
  }
}
