package dev.zlayer.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/** Looks at the machine before a test that is marked with {@link Requires}. */
final class RequiresCondition implements ExecutionCondition {
  private static final System.Logger LOG = System.getLogger(Requires.class.getName());

  private final Path directory;

  /** For JUnit: notes skips in the build directory of the module under test. */
  RequiresCondition() {
    this(Path.of("target"));
  }

  RequiresCondition(Path directory) {
    this.directory = directory;
  }

  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
    List<String> missing =
        context
            .getElement()
            .flatMap(element -> AnnotationSupport.findAnnotation(element, Requires.class))
            .map(RequiresCondition::missing)
            .orElse(List.of());
    if (missing.isEmpty()) {
      return ConditionEvaluationResult.enabled("the machine has all that is needed");
    }
    String reason = "this machine lacks " + String.join(", ", missing);
    String line = "%s: %s".formatted(name(context), reason);
    LOG.log(System.Logger.Level.WARNING, "skipped " + line);
    note(line);
    return ConditionEvaluationResult.disabled(reason);
  }

  static List<String> missing(Requires requires) {
    var missing = new ArrayList<String>();
    for (Fact fact : requires.value()) {
      if (!fact.holds()) {
        missing.add("%s (%s)".formatted(fact, fact.remedy()));
      }
    }
    for (String program : requires.programs()) {
      if (!Fact.program(program)) {
        missing.add("the program " + program);
      }
    }
    return missing;
  }

  private static String name(ExtensionContext context) {
    String type = context.getRequiredTestClass().getName();
    return context.getTestMethod().map(method -> type + "." + method.getName()).orElse(type);
  }

  /** Once per test, however often it is run before the next clean build. */
  private void note(String line) {
    Path file = directory.resolve("skipped-facts");
    try {
      boolean known = Files.exists(file) && Files.readAllLines(file).contains(line);
      if (Files.isDirectory(directory) && !known) {
        Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
