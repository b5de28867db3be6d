package dev.zlayer.cli.command.run;

import dev.zlayer.error.AgentException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Sizes as Docker's flags have them: {@code 512m} is 512 MiB. */
final class DockerSize {
  private static final Pattern FORM =
      Pattern.compile("([0-9]{1,12}(?:\\.[0-9]{1,6})?)\\s*([bkmgtBKMGT]?)(?:i?[bB])?");
  private static final String POWERS = "bkmgt";

  private DockerSize() {}

  static long parse(String option, String text) {
    Matcher form = FORM.matcher(text.strip());
    if (!form.matches()) {
      throw new AgentException.InvalidSpec(
          "%s '%s' is not a size, write one such as 512m or 2g".formatted(option, text));
    }
    String unit = form.group(2).isEmpty() ? "b" : form.group(2).toLowerCase(java.util.Locale.ROOT);
    return (long) (Double.parseDouble(form.group(1)) * Math.pow(1024, POWERS.indexOf(unit)));
  }
}
