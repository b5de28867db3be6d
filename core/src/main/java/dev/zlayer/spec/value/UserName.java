package dev.zlayer.spec.value;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.TextForm;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A user, and a group if not the user's own; each a number or a name known to the image. */
@TextForm(
    is = "a user",
    example = "1000:1000",
    pattern = "^[A-Za-z0-9_][A-Za-z0-9_.-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?$",
    number = true)
public record UserName(String user, Optional<String> group) {
  private static final String WORD = "(0|[1-9][0-9]{0,9}|[A-Za-z_][A-Za-z0-9_.-]*)";
  private static final Pattern FORM = Pattern.compile(WORD + "(?::" + WORD + ")?");

  public static UserName parse(String text) {
    Matcher form = FORM.matcher(text);
    if (!form.matches()) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a user, write uid, uid:gid or a name of the image".formatted(text));
    }
    return new UserName(form.group(1), Optional.ofNullable(form.group(2)));
  }
}
