package dev.zlayer.cli.command.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class InstanceLogTest {
  @Test
  void oneAfterTheOtherIsRight() {
    InstanceLog log = InstanceLog.parse("a 1.0\na 2.5\nb 2.6\nb 3.0\nc 4.0\n");
    assertThat(log.overlaps()).isEmpty();
    assertThat(log.newest().orElseThrow().id()).isEqualTo("c");
    assertThat(InstanceLog.parse("").newest()).isEmpty();
  }

  @Test
  void twoAtATimeAreFound() {
    assertThat(InstanceLog.parse("a 1.0\nb 2.6\na 2.7\nb 3.0\n").overlaps()).hasSize(1);
    assertThat(InstanceLog.parse("a 1.0\nb 2.0\nb 2.1\nc 2.2\na 9.0\n").overlaps()).hasSize(2);
    assertThat(InstanceLog.parse("a 1.0\na 2.0\nb 2.0\n").overlaps()).hasSize(1);
  }

  @Test
  void aLineThatIsBeingWrittenDoesNotCount() {
    assertThat(InstanceLog.parse("a 1.0\na 2.0\nb 1").overlaps()).isEmpty();
  }
}
