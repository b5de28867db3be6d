package dev.zlayer.host.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.BootClock;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.task.Deadline;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ClaimDirectoryTest {
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final String CLAIM = "shop/web";
  private static final String NAME = "shop.web.1";

  @TempDir private Path directory;
  private ClaimDirectory claims;
  private Path note;
  private Process process;

  @BeforeEach
  void start() {
    claims = new ClaimDirectory(directory.resolve("claims"));
    note = directory.resolve("note");
    // its name looks like the end of its own stat line
    process =
        Processes.start(
            Command.of(
                "/bin/sh",
                "-c",
                "printf 'x) Z 1\\n) Z 1' >/proc/$$/comm; while :; do sleep 1; done"));
  }

  @AfterEach
  void end() {
    process.destroyForcibly();
  }

  @Test
  void aProcessEndsWhenItsClaimIsNotRenewedAndNotBefore() throws Exception {
    hold(2);
    watch();
    long until = BootClock.millis() + 4000;
    claims.extend(CLAIM, until, Duration.ofSeconds(20));
    await().atMost(LIMIT).until(() -> !process.isAlive());
    assertThat(BootClock.millis()).isGreaterThanOrEqualTo(until / 1000 * 1000);
    assertThat(process.waitFor()).isEqualTo(128 + 9);
    assertThat(note).hasContent("its node lost the cluster for 20s\n");
    assertThat(claims.obstacle(CLAIM)).isPresent();
    await().atMost(LIMIT).until(() -> records().isEmpty());
  }

  @Test
  void aClaimThatIsTakenAwayEndsItAtOnce() throws Exception {
    hold(3600);
    watch();
    claims.remove(CLAIM);
    await().atMost(LIMIT).until(() -> !process.isAlive());
  }

  @Test
  void nothingIsWatchedWithoutAClaim() {
    assertThat(claims.obstacle(CLAIM)).isPresent();
    assertThatThrownBy(this::watch)
        .isInstanceOf(AgentException.Unavailable.class)
        .hasMessageContaining("the claim shop/web, which this node does not have");
    claims.extend(CLAIM, BootClock.millis(), Duration.ofSeconds(20));
    assertThatThrownBy(this::watch).isInstanceOf(AgentException.Unavailable.class);
    assertThat(process.isAlive()).isTrue();
  }

  @Test
  void aClaimOfAnEarlierBootIsNone() throws Exception {
    hold(3600);
    assertThat(claims.obstacle(CLAIM)).isEmpty();
    Path file = directory.resolve("claims/shop~web.until");
    Files.writeString(file, Files.readString(file).replaceFirst(" [^ ]+ ", " other-boot "));
    assertThat(claims.obstacle(CLAIM)).isPresent();
  }

  @Test
  void aWatchdogThatIsEndedTakesTheProcessWithIt() throws Exception {
    hold(3600);
    watch();
    ProcessHandle.of(watchdog().pid()).orElseThrow().destroyForcibly();
    await().atMost(LIMIT).until(() -> !process.isAlive());
    assertThat(note).hasContent(Watchdog.ALONE + "\n");
  }

  @Test
  void aContainerRunsFromBeforeItsReleaseUntilItsProcessHasEnded() throws Exception {
    hold(3600);
    assertThat(claims.runs(NAME)).isFalse();
    watch();
    assertThat(claims.runs(NAME)).isTrue();
    claims.remove(CLAIM);
    await().atMost(LIMIT).until(() -> !process.isAlive());
    assertThat(claims.runs(NAME)).isFalse();
  }

  /** The watchdog of a process that has ended looks once a second. */
  @Test
  void theWatchdogOfAnEarlierRunLeavesTheRecordOfTheNext() throws Exception {
    hold(3600);
    watch();
    ProcessHandle before = ProcessHandle.of(watchdog().pid()).orElseThrow();
    process.destroyForcibly().waitFor();
    start();
    hold(3600);
    watch();
    await().atMost(LIMIT).until(() -> !before.isAlive());
    assertThat(records()).hasSize(1);
    assertThat(claims.runs(NAME)).isTrue();
  }

  @Test
  void theAgentEndsWhatNoWatchdogWatchesAnyMore() throws Exception {
    hold(3600);
    watch();
    claims.endUnwatched();
    assertThat(process.isAlive()).isTrue();
    // both at once: they are stopped first, so that neither sees the end of the other
    ProcessHandle first = ProcessHandle.of(watchdog().pid()).orElseThrow();
    List<String> both = // and what they run meanwhile, which is no loss
        Stream.concat(Stream.of(first), first.children())
            .map(one -> Long.toString(one.pid()))
            .toList();
    assertThat(both).hasSizeGreaterThan(1);
    for (String signal : List.of("-STOP", "-KILL")) {
      var words = new ArrayList<>(List.of("kill", signal));
      words.addAll(both);
      boolean _ = Processes.run(Command.of(words), Deadline.after(LIMIT)).success();
    }
    await()
        .atMost(LIMIT)
        .until(
            () -> {
              claims.endUnwatched();
              return !process.isAlive();
            });
  }

  private void hold(int seconds) {
    claims.extend(CLAIM, BootClock.millis() + seconds * 1000L, Duration.ofSeconds(20));
  }

  private void watch() throws InterruptedException {
    claims.watch(CLAIM, NAME, ProcessIdentity.of(process.pid()).orElseThrow(), note);
  }

  private ProcessIdentity watchdog() throws Exception {
    return Watchdog.watched(records().getFirst()).orElseThrow().watchdog();
  }

  private List<Path> records() throws Exception {
    try (var files = Files.list(directory.resolve("claims"))) {
      return files.filter(file -> file.toString().endsWith(".watched")).toList();
    }
  }
}
