package dev.zlayer.spec.problem;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The way from the top of a file to one value, printed as {@code services.web.endpoints[0].port}.
 * Keys that hold more than letters, digits, hyphens and underscores are printed in quotes.
 */
public record SpecPath(List<Step> steps) {
  /** One step down: into a mapping or into a list. */
  public sealed interface Step {}

  public record Key(String name) implements Step {}

  public record Index(int number) implements Step {}

  public static final SpecPath ROOT = new SpecPath(List.of());

  private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9_-]+");
  private static final int LONGEST_KEY = 60;

  public SpecPath {
    steps = List.copyOf(steps);
  }

  public SpecPath key(String name) {
    return plus(new Key(name));
  }

  public SpecPath index(int number) {
    return plus(new Index(number));
  }

  /** One step up; the root is its own parent. */
  public SpecPath parent() {
    return steps.isEmpty() ? this : new SpecPath(steps.subList(0, steps.size() - 1));
  }

  private SpecPath plus(Step step) {
    var longer = new ArrayList<Step>(steps);
    longer.add(step);
    return new SpecPath(longer);
  }

  @Override
  public String toString() {
    var text = new StringBuilder();
    for (Step step : steps) {
      switch (step) {
        case Index(int number) -> text.append('[').append(number).append(']');
        case Key(String name) -> text.append(text.isEmpty() ? "" : ".").append(printed(name));
      }
    }
    return text.toString();
  }

  private static String printed(String key) {
    String shown = key.length() > LONGEST_KEY ? key.substring(0, LONGEST_KEY) + "…" : key;
    return PLAIN.matcher(shown).matches() ? shown : '"' + shown + '"';
  }
}
