package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.linux.PortKeeper;
import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.host.linux.UserNamespaces;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.OrdinaryUser;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;

/** An agent of an ordinary user, with an image bb:1 that has busybox. */
final class RootlessAgent implements AutoCloseable {
  static final String SERVER = "busybox nc -ll -p 80 -e echo hello";
  private static final Duration LIMIT = Duration.ofSeconds(120);
  private static final int KILL = 9;

  private final Path directory;
  private final String group;
  private final Stranger stranger;
  private final Path data;
  private final Map<String, String> env;
  private Process process;

  private RootlessAgent(Path directory, int user) throws IOException {
    this.directory = directory;
    this.group = String.valueOf(user);
    this.stranger = Stranger.in(directory, user);
    Path home = stranger.user().home();
    this.data = home.resolve("data");
    this.env =
        Map.of(
            "HOME",
            home.toString(),
            "ZLAYER_DATA_DIR",
            data.toString(),
            "ZLAYER_SOCKET",
            data + "/run/zlayer.sock",
            "ZLAYER_CONFIG_DIR",
            home + "/config");
    start();
  }

  /**
   * Starts it.
   *
   * @param user one that no other test has: all processes of that user are counted at the end
   */
  static RootlessAgent open(Path directory, int user) throws Exception {
    var agent = new RootlessAgent(directory, user);
    try {
      Path image = Files.createDirectories(directory.resolve("image/bin"));
      Files.copy(Path.of("/bin/busybox"), image.resolve("busybox"));
      for (String name : List.of("sh", "cat", "id", "sleep", "echo", "chown", "stat", "touch")) {
        Files.createSymbolicLink(image.resolve(name), Path.of("busybox"));
      }
      String archive = directory + "/image.tar";
      Processes.check(
          Command.of("tar", "-C", directory + "/image", "-cf", archive, "--mode=a+rX", "."),
          Deadline.after(LIMIT));
      agent.ok("image", "import", archive, "bb:1");
      return agent;
    } catch (Exception | AssertionError e) {
      agent.endAll(OrdinaryUser.started(agent.run()));
      throw e;
    }
  }

  /** Starts it again after {@link #kill} or {@link #stop}. */
  void start() throws IOException {
    Path log = Files.createTempFile(directory, "serve", ".log");
    process = stranger.user().startRootless(env, stranger.words("serve"), log);
    Awaitility.await()
        .atMost(LIMIT)
        .failFast(() -> assertThat(process.isAlive()).as(Files.readString(log)).isTrue())
        .until(() -> Files.readString(log).contains("INFO  serving"));
  }

  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  void stop() throws InterruptedException {
    process.destroy();
    process.waitFor();
  }

  /** Where the agent records the processes that it depends on. */
  Path run() {
    return data.resolve("run");
  }

  /** One of those, as it is recorded now. */
  ProcessIdentity recorded(String name) throws IOException {
    return OrdinaryUser.recorded(run().resolve(name)).orElseThrow();
  }

  /** What keeps its ports, by the names of these. */
  Map<String, ProcessIdentity> keepers() throws IOException {
    return PortKeeper.find(run(), UserNamespaces.of(process.pid()));
  }

  /** Kills it and waits until another one is recorded and alive. */
  void replaced(String name) throws IOException {
    ProcessIdentity before = recorded(name);
    assertThat(before.signal(KILL)).isTrue();
    Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .ignoreException(java.util.NoSuchElementException.class)
        .until(() -> recorded(name), now -> !now.equals(before) && now.alive());
  }

  CommandResult zlayer(String... words) throws InterruptedException {
    return stranger.zlayer(group, env, words);
  }

  /** What a command says to this user where no agent is, nor what rootless containers need. */
  String lacking(String word) throws InterruptedException {
    String script =
        """
        for name in newuidmap pasta; do
          mount --bind /dev/null "$(command -v "$name")"
        done
        user=$1
        shift
        exec setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
        """;
    var command =
        new ArrayList<>(
            List.of("unshare", "--mount", "--propagation=private", "sh", "-c", script, "sh"));
    command.add(group);
    command.addAll(stranger.words(word));
    return Processes.run(
            Command.of(command).withEnv(Map.of("HOME", directory + "/nowhere")),
            Deadline.after(LIMIT))
        .stdout();
  }

  String ok(String... words) throws InterruptedException {
    CommandResult result = zlayer(words);
    assertThat(result.code()).as(result.stderr()).isZero();
    return result.stdout();
  }

  String refused(String... words) throws InterruptedException {
    CommandResult result = zlayer(words);
    assertThat(result.success()).as(result.stdout()).isFalse();
    return result.stderr();
  }

  String pid(String name) throws InterruptedException {
    return ok("inspect", name).replaceAll("(?s).*\"pid\": *(\\d+).*", "$1");
  }

  /** Removes everything, which is a test, too: nothing of this user is left. */
  @Override
  public void close() throws Exception {
    List<ProcessIdentity> started = OrdinaryUser.started(run());
    try {
      ok("system", "uninstall", "--force");
      assertThat(data).doesNotExist();
      Awaitility.await()
          .atMost(Duration.ofSeconds(30))
          .untilAsserted(() -> assertThat(processes()).isEmpty());
    } finally {
      endAll(started);
    }
  }

  private void endAll(List<ProcessIdentity> started) throws IOException {
    process.destroyForcibly();
    OrdinaryUser.kill(started);
  }

  private String processes() throws InterruptedException {
    return Processes.run(Command.of("pgrep", "-u", group, "-a"), Deadline.after(LIMIT)).stdout();
  }

  static int freePort() throws IOException {
    try (var socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  /** What the server says; it may still be about to listen. */
  static String answer(int port) {
    return Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .ignoreExceptionsInstanceOf(IOException.class)
        .until(() -> answerNow(port), text -> !text.isEmpty());
  }

  static String answerNow(int port) throws IOException {
    try (var socket = new Socket(InetAddress.ofLiteral("127.0.0.1"), port)) {
      socket.setSoTimeout(5000);
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
    }
  }
}
