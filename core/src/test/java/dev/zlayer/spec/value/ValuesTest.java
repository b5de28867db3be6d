package dev.zlayer.spec.value;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.problem.Nearest;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ValuesTest {
  private static void refuses(Function<String, ?> parse, String... texts) {
    for (String text : texts) {
      assertThatThrownBy(() -> parse.apply(text))
          .as(text)
          .isInstanceOf(AgentException.InvalidSpec.class);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "TERM, 15, SIGTERM", "sigkill, 9, SIGKILL", "15, 15, SIGTERM", "SIGSTOP, 19, SIGSTOP",
    "CHLD, 17, SIGCHLD", "RTMIN+3, 37, SIGRTMIN+3", "SIGRTMAX-1, 63, SIGRTMIN+29",
        "34, 34, SIGRTMIN",
    "WINCH, 28, SIGWINCH", "SYS, 31, SIGSYS",
  })
  void signals(String text, int number, String name) {
    assertThat(SignalName.parse(text)).isEqualTo(new SignalName(number, name));
  }

  @Test
  void wrongSignals() {
    refuses(SignalName::parse, "", "0", "32", "33", "65", "SIGFOO", "RTMIN-1", "RTMAX+1", "-9");
  }

  @Test
  void capabilities() {
    assertThat(Capability.parse("net_admin").name()).isEqualTo("CAP_NET_ADMIN");
    assertThat(Capability.parse("all")).isEqualTo(Capability.ALL);
    assertThat(Capability.NAMES).hasSize(41).doesNotHaveDuplicates();
    refuses(Capability::parse, "", "CAP_", "CAP_ALL", "NETADMIN2");
  }

  @Test
  void users() {
    assertThat(UserName.parse("1000:100").group()).contains("100");
    assertThat(UserName.parse("postgres").user()).isEqualTo("postgres");
    refuses(UserName::parse, "", "-1", ":1", "1:", "a b", "1:2:3", "007");
  }

  @Test
  void cpuSets() {
    assertThat(CpuSet.parse("0-3,6").text()).isEqualTo("0-3,6");
    refuses(CpuSet::parse, "", ",", "1-", "3-1", "a", "99999", "0,,1");
  }

  @Test
  void networkModes() {
    assertThat(NetworkMode.parse("container:abc")).isEqualTo(new NetworkMode.OfContainer("abc"));
    refuses(NetworkMode::parse, "", "bridge:", "container:", "container", "host:x", "overlay");
  }

  @Test
  void hostsPortsAndCodes() {
    assertThat(ExtraHost.parse("db:fd00::1").address()).isPresent();
    assertThat(ExtraHost.parse("db:host-gateway").address()).isEmpty();
    refuses(ExtraHost::parse, "", "db", ":1.2.3.4", "db:", "db:host", "db:1.2.3.4.5");
    assertThat(ExposedPort.parse("53/udp")).isEqualTo(new ExposedPort(53, Transport.UDP));
    refuses(ExposedPort::parse, "", "0", "65536", "80/sctp", "80/", "http");
    assertThat(ExitCodes.parse("64-78").contains(70)).isTrue();
    refuses(ExitCodes::parse, "", "256", "5-1", "-1", "1-", "1-300");
  }

  @Test
  void commands() {
    assertThat(CommandLine.of(List.of("ls", "-l")).words()).containsExactly("ls", "-l");
    assertThat(CommandLine.parse("ls -l").words()).containsExactly("/bin/sh", "-c", "ls -l");
    refuses(CommandLine::parse, "", "  ");
    assertThatThrownBy(() -> CommandLine.of(List.of()))
        .isInstanceOf(AgentException.InvalidSpec.class);
  }

  @Test
  void nearestWords() {
    var words = List.of("scale", "schedule", "storage", "health");
    assertThat(Nearest.to("sclae", words)).contains("scale");
    assertThat(Nearest.to("Health", words)).contains("health");
    assertThat(Nearest.to("volumes", words)).isEmpty();
    assertThat(Nearest.to("x", words)).isEmpty();
    assertThat(Nearest.to("s".repeat(1_000), words)).isEmpty();
  }
}
