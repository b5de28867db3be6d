package dev.zlayer.host.net;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class OutsidePortsTest {
  @TempDir private Path tables;

  @Test
  void portsOfTheHostAreThoseThatListen() throws IOException {
    Files.writeString(
        tables.resolve("tcp"),
        """
          sl  local_address rem_address   st
           0: 00000000:1F90 00000000:0000 0A 00000000:00000000
           1: 0100007F:1F91 0100007F:9999 01 00000000:00000000
        """);
    Files.writeString(
        tables.resolve("udp6"),
        """
          sl  local_address rem_address   st
           0: 00000000000000000000000000000000:0035 00000000000000000000000000000000:0000 07
        """);
    var ports = new OutsidePorts(tables, 1024, tables);
    assertThat(ports.bound(false, 8080)).isTrue();
    assertThat(ports.bound(false, 8081)).isFalse(); // a connection, and nobody listens
    assertThat(ports.bound(true, 53)).isTrue();
    assertThat(ports.bound(true, 8080)).isFalse();
  }
}
