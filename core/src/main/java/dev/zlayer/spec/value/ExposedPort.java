package dev.zlayer.spec.value;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.TextForm;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A port that the image listens on, as documentation: {@code 8080} or {@code 53/udp}. */
@TextForm(
    is = "port or port/protocol",
    example = "53/udp",
    pattern = "^[0-9]+(/(tcp|udp))?$",
    number = true)
public record ExposedPort(int port, Transport transport) {
  private static final Pattern FORM = Pattern.compile("([0-9]{1,5})(?:/(tcp|udp))?");

  public static ExposedPort parse(String text) {
    Matcher form = FORM.matcher(text);
    int port = form.matches() ? Integer.parseInt(form.group(1)) : 0;
    if (port < 1 || port > 65_535) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a port, write a number from 1 to 65535, or 53/udp".formatted(text));
    }
    return new ExposedPort(port, "udp".equals(form.group(2)) ? Transport.UDP : Transport.TCP);
  }
}
