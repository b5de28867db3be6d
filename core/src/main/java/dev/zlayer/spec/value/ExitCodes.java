package dev.zlayer.spec.value;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.TextForm;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One exit code or a range of them, both ends included. */
@TextForm(is = "an exit code or a range", example = "64-78", pattern = "^[0-9]{1,3}(-[0-9]{1,3})?$")
public record ExitCodes(int from, int to) {
  private static final Pattern FORM = Pattern.compile("([0-9]{1,3})(?:-([0-9]{1,3}))?");

  public static ExitCodes parse(String text) {
    Matcher form = FORM.matcher(text);
    if (form.matches()) {
      int from = Integer.parseInt(form.group(1));
      int to = form.group(2) == null ? from : Integer.parseInt(form.group(2));
      if (from <= to && to <= 255) {
        return new ExitCodes(from, to);
      }
    }
    throw new AgentException.InvalidSpec(
        "'%s' is not an exit code, write a number from 0 to 255 or a range such as 64-78"
            .formatted(text));
  }

  @Override
  public String toString() {
    return from == to ? Integer.toString(from) : from + "-" + to;
  }

  public boolean contains(int code) {
    return from <= code && code <= to;
  }
}
