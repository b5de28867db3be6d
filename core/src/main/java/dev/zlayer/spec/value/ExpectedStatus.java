package dev.zlayer.spec.value;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.TextForm;
import java.util.regex.Pattern;

/** One status of an answer, or a class of them: both ends included. */
@TextForm(
    is = "a status or a class",
    example = "2xx",
    pattern = "^[1-5]([0-9]{2}|xx)$",
    number = true)
public record ExpectedStatus(int from, int to) {
  private static final Pattern FORM = Pattern.compile("[1-5]([0-9]{2}|xx)");

  public static ExpectedStatus parse(String text) {
    if (!FORM.matcher(text).matches()) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a status, write a number such as 200 or a class such as 2xx"
              .formatted(text));
    }
    return new ExpectedStatus(
        Integer.parseInt(text.replace('x', '0')), Integer.parseInt(text.replace('x', '9')));
  }

  public boolean contains(int status) {
    return from <= status && status <= to;
  }

  @Override
  public String toString() {
    return from == to ? Integer.toString(from) : from / 100 + "xx";
  }
}
