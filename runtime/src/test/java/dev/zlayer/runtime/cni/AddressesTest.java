package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.task.TaskScope;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class AddressesTest {
  private static final int READS = 3000;

  @TempDir Path directory;

  /** A plugin that a killed agent had started gives addresses back while the next one starts. */
  @Test
  void addressesThatVanishWhileTheyAreReadAreNotThere() throws Exception {
    Path network = Files.createDirectories(directory.resolve("default"));
    Files.writeString(network.resolve("10.0.0.2"), "kept\r\neth0");
    Files.writeString(network.resolve("last_reserved_ip.0"), "10.0.0.2");
    var addresses = new Addresses(directory);
    var done = new AtomicBoolean();
    try (var scope = new TaskScope("addresses")) {
      scope.fork(
          () -> {
            for (int i = 0; !done.get(); i++) {
              Path file = network.resolve("10.0.1." + i % 8);
              Files.writeString(file, "passing\r\neth0");
              Files.delete(file);
            }
            return true;
          });
      try {
        for (int i = 0; i < READS; i++) {
          assertThat(addresses.given())
              .filteredOn(given -> given.slot().equals("kept"))
              .containsExactly(new Addresses.Given("default", "10.0.0.2", "kept"));
        }
      } finally {
        done.set(true);
      }
      scope.join();
    }
  }

  @Test
  void theNextFreeAddressIsGivenUntilNoneIsLeft() throws Exception {
    var network = new NamedNetwork("small", "br0", Subnet.parse("10.0.0.0/29"));
    Path files = Files.createDirectories(directory.resolve("small"));
    Files.writeString(files.resolve("10.0.0.4"), "another\r\neth0");
    var addresses = new Addresses(directory);

    assertThat(taken(addresses, network)).hasToString("Optional[/10.0.0.2]");
    assertThat(files.resolve("10.0.0.2")).hasContent("slot\r\neth0");
    assertThat(taken(addresses, network)).hasToString("Optional[/10.0.0.3]");
    addresses.release(new Addresses.Given("small", "10.0.0.2", "slot"));
    assertThat(taken(new Addresses(directory), network))
        .as("not the one that was given back just now")
        .hasToString("Optional[/10.0.0.5]");
    assertThat(taken(addresses, network)).hasToString("Optional[/10.0.0.6]");
    assertThat(taken(addresses, network)).hasToString("Optional[/10.0.0.2]");
    assertThat(taken(addresses, network)).isEmpty();
  }

  private Optional<InetAddress> taken(Addresses addresses, NamedNetwork network) throws Exception {
    return addresses.take(network, PreparedNamespace.bare("slot", directory.resolve("slot")));
  }
}
