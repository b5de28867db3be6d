package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How many networks there can be. */
class NetworkStoreTest {
  @TempDir Path directory;

  @Test
  void aNetworkThatHasNoRoomIsRefusedWithWhatToDo() throws Exception {
    NetworkStore store =
        NetworkStore.open(
            NetworkConfig.of(directory, directory)
                .withPrefix("zltest", Subnet.parse("198.18.0.0/21")));
    for (int number = 0; number < 8; number++) {
      assertThat(store.create("n" + number).subnet())
          .isEqualTo(Subnet.parse("198.18.%d.0/24".formatted(number)));
    }

    assertThatThrownBy(() -> store.create("n8"))
        .isInstanceOf(AgentException.Network.class)
        .hasMessage(
            "no range is free for network 'n8': all of 198.18.0.0/21 is used by networks or"
                + " routes; remove a deployment or network, or set network_range to a larger one");

    store.forget("n3");
    assertThat(store.create("n8").subnet()).isEqualTo(Subnet.parse("198.18.3.0/24"));
  }
}
