package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class RouteMessageTest {
  private static final int HEADER = 16;

  /** Length and type in four bytes, then the value, then zeros up to a multiple of four. */
  @Test
  void anAttributeOfOneByteSaysSo() {
    byte[] sent = RouteMessage.changing(RouteMessage.SETLINK).attribute(4, new byte[] {1}).bytes();

    assertThat(sent).hasSize(HEADER + 8);
    assertThat(sent[HEADER]).isEqualTo((byte) 5);
    assertThat(sent[HEADER + 2]).isEqualTo((byte) 4);
    assertThat(sent[HEADER + 4]).isEqualTo((byte) 1);
  }
}
