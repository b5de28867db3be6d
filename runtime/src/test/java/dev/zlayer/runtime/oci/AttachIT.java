package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.container.TerminalSize;
import dev.zlayer.port.Attachable;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** The streams and the terminal of a container's own process. */
class AttachIT extends OnStage {
  @Test
  void attachedStreamsAreTheContainersOwn() throws Exception {
    var process = ProcessSpec.DEFAULT.withArgs("cat").withStdin(true);
    Container cat =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec().withProcess(process));
    cat.start();
    try (var session = ((Attachable) cat).attach()) {
      session.stdin().write("hello\n".getBytes(StandardCharsets.UTF_8));
      var reader =
          new BufferedReader(new InputStreamReader(session.stdout(), StandardCharsets.UTF_8));
      assertThat(reader.readLine()).isEqualTo("hello");
      session.stdin().close();
      assertThat(session.await(soon())).isEqualTo(new ExitStatus.Code(0));
    }
    assertThat(RuntimeFixture.text(cat)).isEqualTo("hello");
    cat.remove(true);
  }

  @Test
  void theTerminalOfAContainerHasItsSizeFromTheStartAndTheLastOneStays() throws Exception {
    String script = "stty size; read go; stty size";
    var process =
        ProcessSpec.DEFAULT
            .withArgs("sh", "-c", script)
            .withStdin(true)
            .withTerminal(new TerminalSize(44, 123));
    Container sized =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec().withProcess(process));
    try {
      sized.start();
      Awaitility.await().until(() -> RuntimeFixture.text(sized).contains("44 "));
      try (var session = ((Attachable) sized).attach()) {
        for (int columns = 50; columns <= 99; columns++) {
          session.resize(33, columns);
        }
        session.stdin().write('\n');
        assertThat(session.await(soon())).isEqualTo(new ExitStatus.Code(0));
      }
      assertThat(RuntimeFixture.text(sized).lines().map(String::strip).toList())
          .startsWith("44 123")
          .endsWith("33 99");
    } finally {
      sized.remove(true);
    }
  }

  /** Its terminal cannot be found any more, so the monitor has to set the size. */
  @Test
  void theLastSizeStaysAlsoOfAProcessThatChangedItsRoot() throws Exception {
    String inside = "read go; until [ \"$(stty size)\" = '33 99' ]; do sleep 0.02; done; echo same";
    String script = "mkdir /jail; cp -a /bin /jail; exec chroot /jail /bin/sh -c \"$0\"";
    var process =
        ProcessSpec.DEFAULT
            .withArgs("sh", "-c", script, inside)
            .withStdin(true)
            .withTerminal(new TerminalSize(44, 123));
    Container sized =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec().withProcess(process));
    try {
      sized.start();
      try (var session = ((Attachable) sized).attach()) {
        session.stdin().write('\n');
        for (int columns = 50; columns <= 99; columns++) {
          session.resize(33, columns);
        }
        assertThat(session.await(soon())).isEqualTo(new ExitStatus.Code(0));
      }
      assertThat(RuntimeFixture.text(sized)).contains("same");
    } finally {
      sized.remove(true);
    }
  }

  /** The monitor waits for everybody who is attached, and the container for its monitor. */
  @Test
  void whoeverDoesNotReadKeepsNobodyWaiting() throws Exception {
    int part = 4 << 20; // so much is kept for a reader that is behind
    int bytes = 3 * part;
    String script = "for i in 1 2 3; do read go; head -c %d /dev/zero; done; read end";
    var process = ProcessSpec.DEFAULT.withArgs("sh", "-c", script.formatted(part)).withStdin(true);
    Container loud =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec().withProcess(process));
    try {
      loud.start();
      try (var stopped = ((Attachable) loud).attach();
          var reader = ((Attachable) loud).attach()) {
        for (int i = 0; i < 3; i++) { // however busy the machine is, it is never behind by more
          reader.stdin().write("go\n".getBytes(StandardCharsets.UTF_8));
          assertThat(reader.stdout().readNBytes(part)).hasSize(part);
        }
        reader.stdin().write("end\n".getBytes(StandardCharsets.UTF_8));
        assertThat(stopped.await(soon())).isEqualTo(new ExitStatus.Code(0));
        assertThat(reader.discarded()).isZero();
        int read = stopped.stdout().readAllBytes().length;
        assertThat(stopped.discarded()).isPositive().isEqualTo(bytes - read);
        assertThat(read).isEqualTo(part);
      }
      try (var log = loud.logs(LogQuery.ALL)) {
        long kept = 0;
        for (var line = log.next(); line.isPresent(); line = log.next()) {
          kept += line.get().bytes().length;
        }
        assertThat(kept).isEqualTo(bytes);
      }
    } finally {
      loud.remove(true);
    }
  }

  @Test
  void detachingFromATerminalLeavesItRunning() throws Exception {
    var process = ProcessSpec.DEFAULT.withArgs("sh").withTerminal(true).withStdin(true);
    Container shell =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec().withProcess(process));
    shell.start();
    try (var session = ((Attachable) shell).attach()) {
      session.resize(21, 77);
      session.stdin().write("stty size; echo ready\n".getBytes(StandardCharsets.UTF_8));
      var reader =
          new BufferedReader(new InputStreamReader(session.stdout(), StandardCharsets.UTF_8));
      String line = reader.readLine();
      var seen = new StringBuilder();
      while (line != null && !line.equals("ready")) {
        seen.append(line).append('\n');
        line = reader.readLine();
      }
      assertThat(seen).contains("21 77");
    }
    assertThat(shell.status().alive()).isTrue();
    try (var again = ((Attachable) shell).attach()) {
      again.stdin().write("exit 6\n".getBytes(StandardCharsets.UTF_8));
      assertThat(again.await(soon())).isEqualTo(new ExitStatus.Code(6));
    }
    shell.remove(true);
  }

  private static Deadline soon() {
    return Deadline.after(RuntimeFixture.TIMEOUT);
  }
}
