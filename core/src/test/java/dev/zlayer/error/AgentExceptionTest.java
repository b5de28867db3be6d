package dev.zlayer.error;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class AgentExceptionTest {
  private static final List<AgentException> ONE_OF_EACH =
      List.of(
          new AgentException.NotFound("container 'web'", "it was never created"),
          new AgentException.PullFailed("nginx", "no such tag"),
          new AgentException.CreateFailed("web", "no space"),
          new AgentException.StartFailed("web", "exec format error", List.of("one", "two")),
          new AgentException.UnexpectedExit("web", 7, List.of("panic")),
          new AgentException.HealthCheckFailed("web", "connection refused"),
          new AgentException.InitActionFailed("web", "step 'wait' failed"),
          new AgentException.Timeout("waiting for web", Duration.ofSeconds(90)),
          new AgentException.DependencyTimeout("web", "db", "healthy", Duration.ofMinutes(5)),
          new AgentException.InvalidSpec("odd"),
          new AgentException.Conflict("the name is taken"),
          new AgentException.Busy("the queue is full"),
          new AgentException.Unavailable("the agent is shutting down"),
          new AgentException.Network("unreachable"),
          new AgentException.Configuration("install conmon"),
          new AgentException.Internal("bug"),
          new AgentException.Unsupported("exec in a module"),
          new AgentException.WslGpuUnavailable("/dev/dxg is missing"),
          new AgentException.GpuSharingUnavailable("mps", "the daemon does not run"),
          new AgentException.RouteToPeer("web", "windows", "no runtime here serves it"),
          new AgentException.WrongPlatform("oci", "linux", "windows", "nano"));

  @Test
  void theListAboveHasAllKinds() {
    var kinds =
        Arrays.stream(AgentException.class.getPermittedSubclasses())
            .map(Class::getSimpleName)
            .collect(Collectors.toSet());

    assertThat(kinds).hasSize(21);
    assertThat(ONE_OF_EACH)
        .extracting(AgentException::kind)
        .containsExactlyInAnyOrderElementsOf(kinds);
  }

  @Test
  void everyBlameHasItsKindsAndItsExitCode() {
    Map<Integer, List<String>> byCode = new HashMap<>();
    for (AgentException error : ONE_OF_EACH) {
      byCode.merge(
          error.blame().exitCode(),
          List.of(error.kind()),
          (a, b) -> java.util.stream.Stream.concat(a.stream(), b.stream()).toList());
    }

    assertThat(byCode.get(1)).containsExactlyInAnyOrder("Configuration", "Internal");
    assertThat(byCode.get(2))
        .containsExactlyInAnyOrder("NotFound", "InvalidSpec", "Unsupported", "Conflict");
    assertThat(byCode.get(3))
        .containsExactlyInAnyOrder(
            "CreateFailed",
            "StartFailed",
            "InitActionFailed",
            "UnexpectedExit",
            "HealthCheckFailed");
    assertThat(byCode.get(4))
        .containsExactlyInAnyOrder(
            "PullFailed", "Network", "Timeout", "DependencyTimeout", "Busy", "Unavailable");
    assertThat(byCode.get(5))
        .containsExactlyInAnyOrder(
            "RouteToPeer", "WrongPlatform", "WslGpuUnavailable", "GpuSharingUnavailable");
  }

  @Test
  void everyKindHasAnHttpStatusInTheErrorRange() {
    assertThat(ONE_OF_EACH).allSatisfy(error -> assertThat(Statuses.of(error)).isBetween(400, 599));
    assertThat(Statuses.of(ONE_OF_EACH.getFirst())).isEqualTo(404);
    assertThat(Statuses.of(new AgentException.Conflict("taken"))).isEqualTo(409);
    assertThat(Statuses.of(new AgentException.Busy("full"))).isEqualTo(429);
    assertThat(Statuses.of(new AgentException.Unavailable("closing"))).isEqualTo(503);
  }

  @Test
  void failuresOfTheWorkloadCarryItsLastLines() {
    assertThat(ONE_OF_EACH.get(3)).hasMessageContaining("last output:\n  one\n  two");
    assertThat(ONE_OF_EACH.get(4)).hasMessageContaining("code 7").hasMessageContaining("panic");
  }

  @Test
  void messagesNameTheThingAndReadAsPartOfASentence() {
    assertThat(ONE_OF_EACH)
        .allSatisfy(
            error -> assertThat(error.getMessage()).matches("(?s)[a-z'/].*").doesNotEndWith("."));
    assertThat(ONE_OF_EACH.get(7)).hasMessage("timed out after 1m 30s while waiting for web");
  }
}
