package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.Pausable;
import dev.zlayer.runtime.oci.tool.OciTools;
import dev.zlayer.task.Threads;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Tools that fail, hang or talk nonsense: errors name them, and nothing is left. */
@Requires({Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.OVERLAYFS})
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BrokenToolsIT {
  /** Does what the file {@code mode} says for the verb it names, else the real thing. */
  private static final String WRAPPER =
      """
      #!/bin/sh
      read -r verb act < %1$s
      for word in "$@"; do
        if [ "$word" = "$verb" ]; then
          case $act in
            fail) echo "first line" >&2; echo "%2$s is broken today" >&2; exit 9;;
            hang) exec sleep 1000;;
            garbage) echo '}{ nonsense' >&3; echo '}{ nonsense'; exit 0;;
            silent) exit 0;;
            never) : > %1$s.done; exec sleep 1000;;
            late) /usr/bin/env PATH=/usr/sbin:/usr/bin:/sbin:/bin %2$s "$@"; : > %1$s.done; exec sleep 1000;;
            busy) echo . >> %1$s.count; [ $(wc -l < %1$s.count) -gt 2 ] || { echo "unable to freeze" >&2; exit 1; };;
            stuck) echo "unable to freeze" >&2; exit 1;;
          esac
        fi
      done
      exec /usr/bin/env PATH=/usr/sbin:/usr/bin:/sbin:/bin %2$s "$@"
      """;

  /** For the one call that hangs; whatever works has the time that it takes on a busy machine. */
  private static final Duration HASTY = Duration.ofSeconds(2);

  private Path directory;
  private Path mode;
  private Path conmon;
  private OciSettings settings;
  private RuntimeFixture fixture;

  @BeforeAll
  void open(@TempDir Path directory, @TempDir Path tools) throws Exception {
    this.directory = directory;
    mode = Files.writeString(tools.resolve("mode"), "none none\n");
    conmon = wrapper(tools, "conmon");
    var choice =
        new OciTools.Choice(Optional.of(wrapper(tools, "runc").toString()), Optional.of(conmon));
    settings = OciSettings.DEFAULT.withTools(choice).withToolLimit(RuntimeFixture.TIMEOUT);
    fixture = RuntimeFixture.open(directory, settings, Faults.NONE);
  }

  /** The same container with an agent whose tools have that long. */
  private Container within(Duration limit, Container container) throws Exception {
    reopen(limit);
    return fixture.runtime.find(container.id()).orElseThrow();
  }

  private void reopen(Duration limit) throws Exception {
    fixture.close();
    fixture = RuntimeFixture.open(directory, settings.withToolLimit(limit), Faults.NONE);
  }

  @AfterEach
  void repair() throws Exception {
    mode("none none");
    reopen(RuntimeFixture.TIMEOUT);
    for (Container container : fixture.runtime.list()) {
      container.remove(true);
    }
    new Leaks(directory).assertNone();
  }

  @AfterAll
  void close() throws Exception {
    fixture.tearDown();
  }

  @Test
  void aRuntimeThatFailsToStartIsNamed() throws Exception {
    Container container = broken("start", "fail");
    assertThatThrownBy(container::start)
        .isInstanceOf(AgentException.StartFailed.class)
        .hasMessageContaining("runc start exited with 9: runc is broken today");
    assertThat(container.status())
        .isInstanceOfSatisfying(
            ContainerStatus.Exited.class,
            exited ->
                assertThat(exited.outcome().status()).isInstanceOf(ExitStatus.RuntimeError.class));
    mode("none none");
    container.start();
    assertThat(container.status().alive()).isTrue();
  }

  @Test
  void aRuntimeThatFailsToCreateIsNamed() throws Exception {
    Container container = broken("create", "fail");
    assertThatThrownBy(container::start)
        .isInstanceOf(AgentException.StartFailed.class)
        .hasMessageContaining("runc create failed: runc is broken today");
  }

  @Test
  void aRuntimeThatCreatesNothingIsFoundOut() throws Exception {
    Container container = broken("create", "silent");
    assertThatThrownBy(container::start).isInstanceOf(AgentException.StartFailed.class);
  }

  @Test
  void aRuntimeThatHangsIsGivenUp() throws Exception {
    for (String verb : new String[] {"create", "start"}) {
      Container container = within(HASTY, broken(verb, "hang"));
      assertThatThrownBy(container::start)
          .isInstanceOf(AgentException.Timeout.class)
          .hasMessageContaining("2s");
      mode("none none");
      within(RuntimeFixture.TIMEOUT, container).remove(true);
    }
  }

  @Test
  void freezingIsTriedAgainWhileTheProcessesCannotBeFrozen() throws Exception {
    Container container = broken("pause", "busy");
    container.start();
    var pausable = (Pausable) container;
    pausable.pause();
    assertThat(container.status()).isInstanceOf(ContainerStatus.Paused.class);
    assertThat(Files.readAllLines(Path.of(mode + ".count"))).hasSize(3);
    pausable.unpause();
    Container hasty = within(HASTY, container);
    mode("pause stuck");
    assertThatThrownBy(((Pausable) hasty)::pause)
        .isInstanceOf(AgentException.Internal.class)
        .hasMessageContaining("unable to freeze");
    assertThat(hasty.status()).isInstanceOf(ContainerStatus.Running.class);
  }

  /** A client that leaves while the runtime is at it: the record says what it has done. */
  @Test
  void whatIsInterruptedWhileItIsFrozenOrContinuedIsRecordedAsItIs() throws Exception {
    Container container = broken("none", "none");
    container.start();
    var pausable = (Pausable) container;
    mode("pause never");
    interrupted(pausable::pause);
    assertThat(container.status()).isInstanceOf(ContainerStatus.Running.class);
    mode("pause late");
    interrupted(pausable::pause);
    assertThat(container.status()).isInstanceOf(ContainerStatus.Paused.class);
    mode("resume never");
    interrupted(pausable::unpause);
    assertThat(container.status()).isInstanceOf(ContainerStatus.Paused.class);
    mode("resume late");
    interrupted(pausable::unpause);
    assertThat(container.status()).isInstanceOf(ContainerStatus.Running.class);
  }

  private void interrupted(Threads.Repeatable<RuntimeException> work) throws Exception {
    interrupted(work, () -> {});
  }

  /** Does something while a tool is at work, and ends that. */
  private void interrupted(
      Threads.Repeatable<RuntimeException> work, Threads.Repeatable<Exception> meanwhile)
      throws Exception {
    Path done = Path.of(mode + ".done");
    Files.deleteIfExists(done);
    var ended = new FutureTask<>(() -> catchThrowable(work::run));
    Thread thread = Thread.ofVirtual().start(ended);
    try {
      Awaitility.await().until(() -> Files.exists(done));
      meanwhile.run();
    } finally {
      thread.interrupt();
    }
    assertThat(ended.get(1, TimeUnit.MINUTES)).isInstanceOf(InterruptedException.class);
  }

  @Test
  void aRemovalThatHangsCanBeMadeAgain() throws Exception {
    Container started = broken("none", "none");
    started.start();
    Container container = within(HASTY, started);
    mode("delete hang");
    assertThatThrownBy(() -> container.remove(true)).isInstanceOf(AgentException.Timeout.class);
    assertThat(fixture.runtime.find(container.id())).isPresent();
    assertThat(container.status()).isInstanceOf(ContainerStatus.Unknown.class);
    mode("none none");
    // by the same agent, whose limit is too short for a machine that is busy
    Awaitility.await()
        .ignoreExceptionsInstanceOf(AgentException.Timeout.class)
        .untilAsserted(() -> container.remove(true));
  }

  @Test
  void aMonitorThatTalksNonsenseIsNamed() throws Exception {
    Container container = broken("--cid", "garbage");
    assertThatThrownBy(container::start)
        .isInstanceOf(AgentException.StartFailed.class)
        .hasMessageContaining("conmon printed '}{ nonsense'");
    mode("--cid fail");
    assertThatThrownBy(container::start)
        .isInstanceOf(AgentException.StartFailed.class)
        .hasMessageContaining("conmon is broken today");
    Container hasty = within(HASTY, container);
    mode("--cid hang");
    assertThatThrownBy(hasty::start).isInstanceOf(AgentException.Timeout.class);
  }

  @Test
  void aMonitorThatIsNotThereIsNamed() throws Exception {
    Container container = broken("none", "none");
    Path away = Files.move(conmon, conmon.resolveSibling("away"));
    try {
      assertThatThrownBy(container::start)
          .isInstanceOf(AgentException.StartFailed.class)
          .hasMessageContaining("conmon")
          .hasMessageContaining("no such file");
    } finally {
      Files.move(away, conmon);
    }
    container.start();
    assertThat(container.status().alive()).isTrue();
  }

  @Test
  void oneThatHangsDoesNotHoldUpOthers() throws Exception {
    Container other = broken("none", "none");
    other.start();
    Container container = broken("start", "never");
    interrupted(
        container::start,
        () -> {
          assertThat(fixture.runtime.list()).hasSize(2);
          assertThat(other.inspect().status().alive()).isTrue();
          other.remove(true);
        });
  }

  private Container broken(String verb, String act) throws Exception {
    Container container =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec("sleep", "300"));
    mode(verb + " " + act);
    return container;
  }

  private void mode(String text) throws IOException {
    Files.writeString(mode, text + "\n");
  }

  private Path wrapper(Path tools, String name) throws IOException {
    Path file = tools.resolve(name);
    Files.writeString(file, WRAPPER.formatted(mode, name));
    return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
  }
}
