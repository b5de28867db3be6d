package dev.zlayer.cli.command.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A service manager listens for the daemon. */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI})
class SocketActivationIT {
  /** Opens the socket, and starts the daemon each time a line comes; writes its number. */
  private static final String MANAGER =
      """
      use strict; use Socket; use POSIX ();
      $^F = 9;
      $| = 1;
      my $path = shift @ARGV;
      umask 0077;
      socket(my $listener, AF_UNIX, SOCK_STREAM, 0) or die "socket: $!";
      bind($listener, sockaddr_un($path)) or die "bind: $!";
      listen($listener, 64) or die "listen: $!";
      while (my $line = <STDIN>) {
        my $pid = fork();
        if ($pid == 0) {
          open(STDIN, '<', '/dev/null');
          POSIX::dup2(fileno($listener), 3);
          $ENV{LISTEN_FDS} = 1;
          $ENV{LISTEN_PID} = $$;
          exec @ARGV or die "exec: $!";
        }
        waitpid($pid, 0);
      }
      """;

  @TempDir Path directory;

  private final List<AutoCloseable> closing = new ArrayList<>();

  @AfterEach
  void endAll() throws Exception {
    for (AutoCloseable part : closing.reversed()) {
      part.close();
    }
  }

  @Test
  void callersWaitWhileTheDaemonIsReplaced() throws Exception {
    DaemonFixture daemon = DaemonFixture.in(directory);
    closing.add(daemon);
    Path socket = daemon.dataDirectory().resolve("run/zlayer.sock");
    Files.createDirectories(socket.getParent());
    File log = directory.resolve("manager.log").toFile();
    var words = new ArrayList<>(List.of("perl", "-e", MANAGER, socket.toString()));
    words.addAll(daemon.process("serve"));
    var builder = new ProcessBuilder(words).redirectErrorStream(true).redirectOutput(log);
    builder.environment().putAll(daemon.env());
    Process manager = builder.start();
    closing.add(
        () -> {
          manager.descendants().forEach(ProcessHandle::destroyForcibly);
          manager.destroyForcibly().waitFor(10, TimeUnit.SECONDS);
        });
    soon(() -> Files.exists(socket));

    // nobody serves yet
    try (var scope = new TaskScope("callers")) {
      TaskScope.Task<CliFixture.Result> early = scope.fork(() -> daemon.cli().run("ps"));
      start(manager);
      scope.join();
      assertThat(early.result().code()).as(early.result().err()).isZero();
    }
    ProcessHandle first = manager.children().findFirst().orElseThrow();
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(socket)))
        .isEqualTo("rw-rw----");

    first.destroyForcibly();
    soon(() -> !first.isAlive());
    try (var scope = new TaskScope("callers")) {
      TaskScope.Task<CliFixture.Result> meanwhile = scope.fork(() -> daemon.cli().run("ps"));
      start(manager);
      scope.join();
      assertThat(meanwhile.result().code()).as(meanwhile.result().err()).isZero();
    }

    // an end in good order leaves the socket, and the log goes on to its last line
    ProcessHandle second = manager.children().findFirst().orElseThrow();
    second.destroy();
    soon(() -> !second.isAlive());
    assertThat(socket).exists();
    assertThat(Files.readString(log.toPath()).strip().lines().toList().getLast())
        .contains("stopped");
  }

  @Test
  void aSocketElsewhereIsRefused() throws Exception {
    DaemonFixture daemon = DaemonFixture.in(directory);
    closing.add(daemon);
    Path other = directory.resolve("other.sock");
    var words = new ArrayList<>(List.of("perl", "-e", MANAGER, other.toString()));
    words.addAll(daemon.process("serve"));
    CommandResult result =
        Processes.run(
            Command.of(words)
                .withEnv(daemon.env())
                .withInput("start\n".getBytes(StandardCharsets.UTF_8)),
            Deadline.after(Duration.ofSeconds(60)));
    assertThat(result.stderr() + result.stdout())
        .contains("the service manager listens on " + other)
        .contains("ListenStream")
        .doesNotContain("\tat ");
  }

  @Test
  void aManagerThatPassesNothingIsNamed() throws Exception {
    DaemonFixture daemon = DaemonFixture.in(directory);
    closing.add(daemon);
    var words =
        new ArrayList<>(
            List.of("sh", "-c", "exec 3<&-; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$@\"", "sh"));
    words.addAll(daemon.process("serve"));
    CommandResult result =
        Processes.run(
            Command.of(words).withEnv(daemon.env()), Deadline.after(Duration.ofSeconds(60)));
    assertThat(result.code()).as(result.stderr()).isPositive().isLessThan(128);
    assertThat(result.stderr()).contains("descriptor 3 is not a socket").doesNotContain("\tat ");
  }

  private static void start(Process manager) throws Exception {
    manager.outputWriter().write("start\n");
    manager.outputWriter().flush();
  }

  private static void soon(Callable<Boolean> condition) {
    Awaitility.await().atMost(Duration.ofSeconds(60)).until(condition);
  }
}
