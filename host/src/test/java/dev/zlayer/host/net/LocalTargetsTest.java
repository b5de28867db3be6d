package dev.zlayer.host.net;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class LocalTargetsTest {
  @Test
  void nobodyElsewhereRefersToThisMachineOrItsLink() {
    for (String local :
        List.of(
            "127.0.0.1",
            "127.8.9.10",
            "localhost",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "169.254.169.254",
            "[fe80::1]",
            "0.0.0.0",
            "[::]",
            "224.0.0.1")) {
      assertThat(LocalTargets.mayRefer("192.0.2.1", local)).as(local).isFalse();
      assertThat(LocalTargets.mayRefer("no-such-host.invalid", local)).as(local).isFalse();
      assertThat(LocalTargets.mayRefer("127.0.0.1", local)).as(local).isTrue();
      assertThat(LocalTargets.mayRefer(local, local)).as(local).isTrue();
    }
    for (String other : List.of("192.0.2.2", "10.1.2.3", "no-such-host.invalid", "[2001:db8::1]")) {
      assertThat(LocalTargets.mayRefer("192.0.2.1", other)).as(other).isTrue();
    }
  }
}
