package dev.zlayer.container;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class DetachKeysTest {
  private DetachKeys keys = DetachKeys.parse(DetachKeys.USUAL);

  private DetachKeys.Passed pass(String typed) {
    byte[] bytes = typed.getBytes(StandardCharsets.ISO_8859_1);
    return keys.pass(bytes, bytes.length);
  }

  private static String text(DetachKeys.Passed passed) {
    return new String(passed.bytes(), StandardCharsets.ISO_8859_1);
  }

  @Test
  void ordinaryKeysPass() {
    assertThat(text(pass("ls -l\r"))).isEqualTo("ls -l\r");
    assertThat(pass("\u0011").detach()).isFalse();
  }

  @Test
  void theTwoKeysLeaveAndAreNotPassedOn() {
    DetachKeys.Passed passed = pass("ab\u0010\u0011cd");

    assertThat(passed.detach()).isTrue();
    assertThat(text(passed)).isEqualTo("ab");
  }

  @Test
  void theFirstKeyIsHeldBackUntilTheNextTells() {
    assertThat(text(pass("a\u0010"))).isEqualTo("a");
    assertThat(text(pass("b"))).isEqualTo("\u0010b");
    assertThat(text(pass("\u0010"))).isEmpty();
    assertThat(pass("\u0011").detach()).isTrue();
  }

  @Test
  void theFirstKeyTwiceIsPassedOnOnce() {
    assertThat(text(pass("\u0010\u0010"))).isEqualTo("\u0010");
    assertThat(pass("\u0011").detach()).isTrue();
  }

  @Test
  void keysCanBeChosen() {
    keys = DetachKeys.parse("a,a,b");
    assertThat(text(pass("xaab"))).isEqualTo("x");
    assertThat(pass("aa").detach()).isFalse();
    assertThat(pass("ab").detach()).as("the last two of three belong to them").isTrue();
    assertThat(text(pass("acaa"))).isEqualTo("ac");
    assertThat(text(pass("c"))).isEqualTo("aac");
    keys = DetachKeys.parse("ctrl-@,ctrl-[,ctrl-a");
    assertThat(pass("\u0000\u001b\u0001").detach()).isTrue();
    for (String odd : new String[] {"", "ctrl-", "ctrl-A", "ab", "a,,b"}) {
      assertThatThrownBy(() -> DetachKeys.parse(odd))
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessage("Invalid detach keys (%s) provided", odd);
    }
  }
}
