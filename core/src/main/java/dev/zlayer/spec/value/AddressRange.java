package dev.zlayer.spec.value;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.TextForm;
import java.net.InetAddress;

/** An address, or all addresses that begin with the same bits. */
@TextForm(is = "an address or a range of addresses", example = "10.0.0.0/8")
public record AddressRange(InetAddress address, int prefix) {
  public static AddressRange parse(String text) {
    String[] parts = text.strip().split("/", -1);
    try {
      InetAddress address = InetAddress.ofLiteral(parts[0]);
      int bits = address.getAddress().length * 8;
      int prefix = parts.length == 1 ? bits : Integer.parseInt(parts[1]);
      if (parts.length <= 2 && prefix >= 0 && prefix <= bits && !parts[0].contains("%")) {
        return new AddressRange(address, prefix);
      }
    } catch (IllegalArgumentException _) {
      // said below
    }
    throw new AgentException.InvalidSpec(
        "'%s' is not a range of addresses, write one such as 10.0.0.0/8 or 192.0.2.7"
            .formatted(text));
  }

  @Override
  public String toString() {
    return address.getHostAddress() + "/" + prefix;
  }
}
