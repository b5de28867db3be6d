package dev.zlayer.spec.value;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.TextForm;
import java.math.BigDecimal;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A number of bytes. {@code Ki Mi Gi Ti Pi Ei} (with or without {@code B}) are powers of 1024,
 * {@code k K M G T P E} powers of 1000, a bare number is bytes. Fractions such as {@code 1.5Gi} are
 * rounded down to whole bytes.
 */
@TextForm(
    is = "a size",
    example = "512Mi",
    pattern = "^[0-9]+(\\.[0-9]+)?\\s*(B|[kKMGTPE]i?B?)?$",
    number = true)
public record ByteSize(long bytes) implements Comparable<ByteSize> {
  private static final Pattern FORM = Pattern.compile("([0-9]{1,19}(?:\\.[0-9]{1,9})?)\\s*(\\S*)");
  private static final Pattern UNIT = Pattern.compile("B?|([kKMGTPE])(i?)B?");
  private static final String POWERS = "KMGTPE";
  private static final Map<String, String> CASUAL =
      Map.of("m", "Mi", "g", "Gi", "t", "Ti", "mb", "MiB", "gb", "GiB", "kb", "KiB", "b", "B");

  public ByteSize {
    if (bytes < 0) {
      throw new AgentException.InvalidSpec("a size cannot be negative: " + bytes);
    }
  }

  public static ByteSize parse(String text) {
    Matcher form = FORM.matcher(text.strip());
    if (!form.matches()) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a size, write one such as 512Mi, 2Gi or a number of bytes".formatted(text));
    }
    Matcher unit = UNIT.matcher(form.group(2));
    if (!unit.matches()) {
      String meant = CASUAL.get(form.group(2));
      throw new AgentException.InvalidSpec(
          meant == null
              ? "the size '%s' has an unknown unit, write Ki, Mi, Gi or Ti".formatted(text)
              : "the size '%s' has an unknown unit, write %s%s"
                  .formatted(text, form.group(1), meant));
    }
    try {
      BigDecimal exact = new BigDecimal(form.group(1)).multiply(factor(unit));
      return new ByteSize(exact.toBigInteger().longValueExact());
    } catch (ArithmeticException _) {
      throw new AgentException.InvalidSpec(
          "the size '%s' is too large, write less".formatted(text));
    }
  }

  private static BigDecimal factor(Matcher unit) {
    if (unit.group(1) == null) {
      return BigDecimal.ONE;
    }
    int power = POWERS.indexOf(Character.toUpperCase(unit.group(1).charAt(0))) + 1;
    return BigDecimal.valueOf(unit.group(2).isEmpty() ? 1000 : 1024).pow(power);
  }

  @Override
  public int compareTo(ByteSize other) {
    return Long.compare(bytes, other.bytes);
  }

  /** The shortest exact form with a binary unit. */
  @Override
  public String toString() {
    long number = bytes;
    int power = 0;
    while (number != 0 && number % 1024 == 0 && power < POWERS.length()) {
      number /= 1024;
      power++;
    }
    return power == 0 ? number + "B" : number + POWERS.substring(power - 1, power) + "i";
  }
}
