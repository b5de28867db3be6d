package dev.zlayer.spec.value;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.TextForm;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Numbers of processors as the kernel writes them: {@code 0-3,6}. */
@TextForm(is = "a set of cpus", example = "0-3,6", pattern = "^[0-9,-]+$", number = true)
public record CpuSet(String text) {
  private static final int HIGHEST = 8191;
  private static final Pattern RANGE = Pattern.compile("([0-9]{1,4})(?:-([0-9]{1,4}))?");

  public static CpuSet parse(String text) {
    for (String part : text.split(",", -1)) {
      Matcher range = RANGE.matcher(part);
      boolean right = range.matches();
      if (right) {
        int from = Integer.parseInt(range.group(1));
        int to = range.group(2) == null ? from : Integer.parseInt(range.group(2));
        right = from <= to && to <= HIGHEST;
      }
      if (!right) {
        throw new AgentException.InvalidSpec(
            "'%s' is not a set of cpus, write numbers and ranges such as 0-3,6".formatted(text));
      }
    }
    return new CpuSet(text);
  }
}
