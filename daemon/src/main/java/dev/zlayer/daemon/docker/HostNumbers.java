package dev.zlayer.daemon.docker;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Facts about the machine that clients show. */
record HostNumbers(String name, String system) {
  static HostNumbers read() {
    return new HostNumbers(hostName(), operatingSystem());
  }

  private static String hostName() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException _) {
      return "localhost"; // its own name cannot be resolved
    }
  }

  private static String operatingSystem() {
    try (var lines = Files.lines(Path.of("/etc/os-release"))) {
      return lines
          .filter(line -> line.startsWith("PRETTY_NAME="))
          .map(line -> line.substring("PRETTY_NAME=".length()).replace("\"", ""))
          .findFirst()
          .orElse("Linux");
    } catch (IOException _) {
      return "Linux"; // minimal systems have no such file
    }
  }
}
