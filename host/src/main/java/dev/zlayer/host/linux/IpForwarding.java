package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Whether this host forwards packets from one of its interfaces to another, by the kind of address,
 * in the network namespace in which the calling thread is.
 */
public enum IpForwarding {
  IPV4("ipv4/ip_forward"),
  IPV6("ipv6/conf/all/forwarding");

  private final Path setting;

  IpForwarding(String setting) {
    this.setting = Path.of("/proc/sys/net").resolve(setting);
  }

  /** Also true where the kernel knows no such addresses: nothing has to be switched on. */
  public boolean on() {
    try {
      return !Files.readString(setting).strip().equals("0");
    } catch (IOException _) {
      return true;
    }
  }

  public void switchOn() throws IOException {
    Files.writeString(setting, "1");
  }
}
