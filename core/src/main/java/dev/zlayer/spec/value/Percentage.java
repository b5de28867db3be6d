package dev.zlayer.spec.value;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.TextForm;
import java.math.BigDecimal;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A part of a whole, from 0 to 100. */
@TextForm(is = "a percentage", example = "5%", pattern = "^[0-9]{1,3}(\\.[0-9]{1,3})?%$")
public record Percentage(BigDecimal value) implements Comparable<Percentage> {
  private static final Pattern FORM = Pattern.compile("([0-9]{1,3}(?:\\.[0-9]{1,3})?)\\s*%");
  private static final BigDecimal WHOLE = BigDecimal.valueOf(100);

  public Percentage {
    value = value.stripTrailingZeros();
  }

  public static Percentage parse(String text) {
    Matcher form = FORM.matcher(text.strip());
    if (!form.matches() || new BigDecimal(form.group(1)).compareTo(WHOLE) > 0) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a percentage, write one such as 5%% or 0.5%%".formatted(text));
    }
    return new Percentage(new BigDecimal(form.group(1)));
  }

  /** From 0 to 100. */
  public double percent() {
    return value.doubleValue();
  }

  @Override
  public int compareTo(Percentage other) {
    return value.compareTo(other.value);
  }

  @Override
  public String toString() {
    return value.toPlainString() + "%";
  }
}
