package dev.zlayer.testkit;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/** Looks at the machine before a test that is marked with {@link Requires}. */
final class RequiresCondition implements ExecutionCondition {
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
    return ConditionEvaluationResult.disabled("this machine lacks " + String.join(", ", missing));
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
}
