package dev.zlayer.spec.value;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.TextForm;
import java.net.InetAddress;
import java.util.Optional;
import java.util.regex.Pattern;

/** A line for the container's hosts file; without an address it is the machine's own one. */
@TextForm(is = "host:ip", example = "db.internal:192.0.2.7", pattern = "^[^:]+:.+$")
public record ExtraHost(String host, Optional<InetAddress> address) {
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?");
  private static final String GATEWAY = "host-gateway";

  public static ExtraHost parse(String text) {
    int colon = text.indexOf(':');
    try {
      if (colon > 0 && NAME.matcher(text.substring(0, colon)).matches()) {
        String address = text.substring(colon + 1);
        return new ExtraHost(
            text.substring(0, colon),
            address.equals(GATEWAY)
                ? Optional.empty()
                : Optional.of(InetAddress.ofLiteral(address)));
      }
    } catch (IllegalArgumentException _) {
      // told below
    }
    throw new AgentException.InvalidSpec(
        "'%s' is not host:ip, write name:192.0.2.7 or name:%s".formatted(text, GATEWAY));
  }
}
