package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Who may talk to a daemon, by which listener, tried with the command line. */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX, Fact.OPENSSL})
class ListenersIT {
  private static final String TOKEN = "0123456789abcdef0123456789abcdef";

  @TempDir Path directory;
  private DaemonFixture daemon;
  private int port;

  @BeforeEach
  void findAPort() throws IOException {
    try (var free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    Files.createDirectories(directory.resolve("etc"));
  }

  @AfterEach
  void removeEverything() {
    if (daemon != null) {
      daemon.close();
    }
  }

  private void start(String configuration) throws IOException {
    Files.writeString(directory.resolve("etc/zlayer.yml"), configuration);
    daemon = DaemonFixture.start(directory);
  }

  @Test
  void aTokenOpensTheDoorOnTcpAndContainersDoNotReachIt() throws Exception {
    Path token = privately("token", TOKEN);
    start("listen: 127.0.0.1:%d\ntoken_file: %s\n".formatted(port, token));
    String host = "tcp://127.0.0.1:" + port;

    CliFixture.Result right =
        from(Map.of("ZLAYER_HOST", host, "ZLAYER_TOKEN_FILE", token.toString()), "info");
    CliFixture.Result wrong = from(Map.of("ZLAYER_HOST", host, "ZLAYER_TOKEN", "guessed"), "ps");
    CliFixture.Result none = from(Map.of("ZLAYER_HOST", host), "ps");

    assertThat(right.code()).as(right.err()).isZero();
    assertThat(right.out()).contains(daemon.dataDirectory().toString());
    assertThat(List.of(wrong, none))
        .allSatisfy(
            refused -> {
              assertThat(refused.code()).isEqualTo(2);
              assertThat(refused.err()).contains("token").doesNotContain(TOKEN);
            });
    daemon.withBusybox("bb:1");
    String probe =
        "nc -w 2 $(ip route | awk '/default/ {print $3}') %d </dev/null && echo reached"
            .formatted(port);
    assertThat(daemon.cli().run("run", "--rm", "bb:1", "sh", "-c", probe).out())
        .doesNotContain("reached");
    assertThat(Files.readString(daemon.dataDirectory().resolve("daemon.log")))
        .doesNotContain(TOKEN)
        .doesNotContain("guessed");
  }

  @Test
  void anAddressThatCannotBeListenedOnIsNamed() throws Exception {
    Path token = privately("token", TOKEN);
    Map<String, String> mistakes =
        Map.of(
            "localhost.invalid:" + port,
            "host 'localhost.invalid' cannot be resolved; write an address of this host",
            "127.0.0.1:70000",
            "port 70000 is above 65535");
    for (var mistake : mistakes.entrySet()) {
      Files.writeString(
          directory.resolve("etc/zlayer.yml"),
          "listen: %s\ntoken_file: %s\n".formatted(mistake.getKey(), token));
      CliFixture.Result refused = from(Map.of(), "daemon", "start");
      assertThat(refused.code()).as(refused.err()).isNotZero();
      assertThat(refused.err())
          .contains("listen = " + mistake.getKey() + ": " + mistake.getValue())
          .doesNotContain("\tat ")
          .doesNotContain("Exception");
    }
  }

  /** Whether the name is known depends on the resolver of this host. */
  @Test
  void aNameWithADotAtItsEndIsServedOrNamedWithoutAStackTrace() throws Exception {
    Path token = privately("token", TOKEN);
    Files.writeString(
        directory.resolve("etc/zlayer.yml"),
        "listen: localhost.:%d\ntoken_file: %s\n".formatted(port, token));
    CliFixture.Result started = from(Map.of(), "daemon", "start");
    if (new InetSocketAddress("localhost.", port).isUnresolved()) {
      assertThat(started.code()).isNotZero();
      assertThat(started.err())
          .contains("listen = localhost.:%d: host 'localhost.' cannot be resolved".formatted(port));
    } else {
      assertThat(started.code()).as(started.err()).isZero();
    }
    assertThat(started.err()).doesNotContain("\tat ").doesNotContain("Exception");
    Path log = directory.resolve("data/daemon.log");
    assertThat(Files.exists(log) ? Files.readString(log) : "")
        .doesNotContain("\tat ")
        .doesNotContain("Exception");
  }

  @Test
  void aCertificateOfTheRightAuthorityOpensTheDoor() throws Exception {
    authority("ours");
    authority("theirs");
    certificate("server", "ours", "IP:127.0.0.1");
    certificate("friend", "ours", "DNS:friend");
    certificate("stranger", "theirs", "DNS:stranger");
    start(
        "listen: 127.0.0.1:%d\ntls_certificate: %s\ntls_key: %s\ntls_client_ca: %s\n"
            .formatted(port, pem("server"), key("server"), pem("ours")));

    CliFixture.Result friend = from(caller("ours", "friend"), "version", "--json");
    assertThat(from(caller("ours", "friend"), "ps").code()).as(friend.err()).isZero();
    for (Map<String, String> refused :
        List.of(
            caller("ours", "stranger"),
            caller("theirs", "friend"),
            Map.of("ZLAYER_HOST", "https://127.0.0.1:" + port, "ZLAYER_TLS_CA", pem("ours")))) {
      CliFixture.Result result = from(refused, "ps");
      assertThat(result.code()).as(refused + result.err()).isEqualTo(4);
      assertThat(result.out()).isEmpty();
      assertThat(result.err()).startsWith("zlayer: ").doesNotContain("\tat ");
    }
    assertThat(from(Map.of("ZLAYER_HOST", "tcp://127.0.0.1:" + port), "ps").code()).isNotZero();
    assertThat(from(caller("ours", "friend"), "volume", "prune").code()).isZero();
    assertThat(daemon.ok("events", "--audit"))
        .contains(" 200 by certificate CN=friend via 127.0.0.1:", "POST /volumes/prune")
        .contains(" 0 by unknown via 127.0.0.1:", ": TLS -");
  }

  @Test
  void tokensWithLimitedRightsAreCreatedUsedListedAndRemoved() throws Exception {
    Path token = privately("token", TOKEN);
    start("listen: 127.0.0.1:%d\ntoken_file: %s\n".formatted(port, token));
    String host = "tcp://127.0.0.1:" + port;
    String reading = daemon.ok("token", "create", "--read-only", "--name", "dashboard").strip();
    String one =
        daemon
            .ok("token", "create", "--deployment", "shop", "--expires", "1h", "--name", "ci")
            .strip();
    Map<String, String> reader = Map.of("ZLAYER_HOST", host, "ZLAYER_TOKEN", reading);
    Map<String, String> ci = Map.of("ZLAYER_HOST", host, "ZLAYER_TOKEN", one);

    assertThat(daemon.ok("token", "ls"))
        .contains("dashboard", "read-only", "never", "ci", "deployment shop")
        .doesNotContain(reading)
        .doesNotContain(one);
    assertThat(from(reader, "ps").code()).isZero();
    CliFixture.Result refused = from(reader, "volume", "prune");
    assertThat(refused.err()).contains("the token is read-only");
    assertThat(refused.code()).isEqualTo(2);
    assertThat(from(ci, "ps").code()).isZero();
    assertThat(from(ci, "image", "ls").err()).contains("the token is for deployment 'shop' only");
    assertThat(from(ci, "token", "create", "--read-only").code()).isEqualTo(2);
    assertThat(from(Map.of(), "token", "create").err()).contains("--read-only");

    assertThat(daemon.ok("token", "rm", "ci").strip()).isEqualTo("ci");
    assertThat(from(ci, "ps").err()).contains("token").doesNotContain(one);
    assertThat(from(ci, "ps").code()).isEqualTo(2);
    String audit = daemon.ok("events", "--audit", "--since", "1h");
    assertThat(audit)
        .contains("403 by token dashboard via 127.0.0.1:", "POST /volumes/prune")
        .contains("201 by user root via unix:", "204 by user root", "DELETE /tokens/{name} name=ci")
        .contains("401 by unknown via 127.0.0.1:");
    assertThat(daemon.ok("events", "--audit", "--json").lines())
        .allSatisfy(line -> assertThat(JsonText.parse(line).at("who").string()).isPresent());
    assertThat(from(Map.of(), "events", "--audit", "--follow").code()).isEqualTo(2);
  }

  @Test
  void theGroupOfTheSocketMayUseItAndOthersMayLookByAnother() throws Exception {
    start("socket_group: daemon\nread_only_socket: %s/look.sock\n".formatted(directory));
    Stranger stranger = Stranger.in(directory);
    Path socket = daemon.dataDirectory().resolve("run/zlayer.sock");

    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(socket)))
        .isEqualTo("rw-rw----");
    assertThat(Files.getAttribute(socket, "unix:group")).hasToString("daemon");
    Map<String, String> env = Map.of("ZLAYER_SOCKET", socket.toString());
    assertThat(stranger.zlayer("daemon", env, "ps").code()).isZero();
    assertThat(stranger.zlayer(String.valueOf(Stranger.USER), env, "ps").stderr())
        .contains("permission denied on", "the group that owns the socket");

    Map<String, String> looking =
        Map.of("ZLAYER_SOCKET", directory.resolve("look.sock").toString());
    assertThat(from(looking, "ps").code()).isZero();
    CliFixture.Result refused = from(looking, "volume", "prune");
    assertThat(refused.err()).contains("the read-only socket does not offer this");
    assertThat(refused.code()).isEqualTo(2);
    daemon.withBusybox("bb:1");
    daemon.ok("run", "-d", "--name", "web", "--network", "none", "bb:1", "sleep", "1000");
    assertThat(from(looking, "inspect", "web").code()).isZero();
    for (String[] secret :
        new String[][] {
          {"cp", "web:/etc/hostname", "-"},
          {"image", "save", "bb:1", "-o", "image.tar"},
          {"daemon", "backup", "state.tar"}
        }) {
      CliFixture.Result denied = from(looking, secret);
      assertThat(denied.code()).as(denied.err()).isEqualTo(2);
      assertThat(denied.err()).contains("the read-only socket does not offer this");
    }
  }

  @Test
  void aDoorThatCannotBeMadeIsToldByTheStart() throws Exception {
    Path token = privately("token", TOKEN);
    Path open = directory.resolve("open");
    Files.writeString(open, TOKEN);
    daemon = null;
    for (var wrong :
        Map.of(
                "socket_group: no-such-group",
                "there is no group 'no-such-group'",
                "listen: 127.0.0.1:" + port,
                "token_file",
                "listen: 127.0.0.1:%d\ntoken_file: %s".formatted(port, open),
                "chmod 600",
                "listen: 0.0.0.0:%d\ntoken_file: %s".formatted(port, token),
                "tls_certificate")
            .entrySet()) {
      Files.writeString(directory.resolve("etc/zlayer.yml"), wrong.getKey() + "\n");
      CliFixture.Result result = from(Map.of(), "daemon", "start");
      assertThat(result.err()).as(wrong.getKey()).contains(wrong.getValue());
      assertThat(result.code()).isEqualTo(1);
    }
    Files.delete(directory.resolve("etc/zlayer.yml"));
    start("log_level: info\n"); // nothing of the failed starts is in the way
  }

  @Test
  void withoutRootADaemonServesModules() throws Exception {
    Path home = Files.createDirectory(directory.resolve("home"));
    Files.write(home.resolve("hello.wasm"), new byte[] {0, 'a', 's', 'm', 1, 0, 0, 0});
    String owner = String.valueOf(Stranger.USER);
    CommandResult _ =
        Processes.check(
            Command.of("chown", "-R", owner + ":" + owner, home.toString()),
            Deadline.after(Duration.ofSeconds(60)));
    Stranger stranger = Stranger.in(directory);
    Map<String, String> env =
        Map.of(
            "HOME", home.toString(),
            "ZLAYER_DATA_DIR", home.resolve("data").toString(),
            "ZLAYER_CONFIG_DIR", home.resolve("etc").toString());
    List<List<String>> session =
        List.of(
            List.of("daemon", "start"),
            List.of("image", "import", home.resolve("hello.wasm").toString(), "hello:1"),
            List.of("image", "ls"),
            List.of("info"));
    var seen = new StringBuilder();
    for (List<String> words : session) {
      CommandResult result = stranger.zlayer(owner, env, words.toArray(String[]::new));
      assertThat(result.code()).as(words + result.stderr()).isZero();
      seen.append(result.stdout());
    }
    Path archive = home.resolve("bb.tar");
    Files.write(archive, ImageMaker.busybox().make().dockerArchive("bb:1"));
    CommandResult loaded = stranger.zlayer(owner, env, "image", "load", "-i", archive.toString());
    assertThat(loaded.code()).isNotZero();
    assertThat(loaded.stderr())
        .startsWith("zlayer: ")
        .contains("needs root (or rootless mode)")
        .doesNotContain("\tat ");
    CommandResult container =
        stranger.zlayer(owner, env, "run", "--rm", "--platform", "linux/amd64", "bb:1", "true");
    CommandResult stopped = stranger.zlayer(owner, env, "daemon", "stop");
    assertThat(stopped.code()).as(stopped.stderr()).isZero();
    assertThat(container.code()).isNotZero();
    assertThat(container.stderr())
        .contains("the agent needs root (or rootless mode)")
        .doesNotContain("peer");
    assertThat(seen.toString())
        .contains("hello:1", "wasi", "containers cannot run here yet", "root");
  }

  /** A command line with variables of its own besides those of the test's daemon. */
  private CliFixture.Result from(Map<String, String> variables, String... words) {
    Map<String, String> env =
        new HashMap<>(
            daemon == null
                ? Map.of(
                    "ZLAYER_DATA_DIR", directory.resolve("data").toString(),
                    "ZLAYER_CONFIG_DIR", directory.resolve("etc").toString(),
                    "HOME", directory.toString())
                : daemon.env());
    env.putAll(variables);
    return new CliFixture(directory, env).run(words);
  }

  private Map<String, String> caller(String authority, String who) {
    return Map.of(
        "ZLAYER_HOST", "https://127.0.0.1:" + port,
        "ZLAYER_TLS_CA", pem(authority),
        "ZLAYER_TLS_CERT", pem(who),
        "ZLAYER_TLS_KEY", key(who));
  }

  private Path privately(String name, String content) throws IOException {
    Path file = directory.resolve(name);
    Files.createFile(
        file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    return Files.writeString(file, content);
  }

  private String pem(String name) {
    return directory.resolve(name + ".pem").toString();
  }

  private String key(String name) {
    return directory.resolve(name + ".key").toString();
  }

  private void authority(String name) throws InterruptedException {
    openssl(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN="
            + name
            + " -keyout "
            + key(name)
            + " -out "
            + pem(name));
  }

  private void certificate(String name, String authority, String subject)
      throws InterruptedException, IOException {
    openssl(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN="
            + name
            + " -addext subjectAltName="
            + subject
            + " -addext basicConstraints=critical,CA:FALSE -CA "
            + pem(authority)
            + " -CAkey "
            + key(authority)
            + " -keyout "
            + key(name)
            + " -out "
            + pem(name));
    Files.setPosixFilePermissions(Path.of(key(name)), PosixFilePermissions.fromString("rw-------"));
  }

  private static void openssl(String words) throws InterruptedException {
    List<String> command = new ArrayList<>(List.of("openssl"));
    command.addAll(List.of(words.split(" ")));
    CommandResult _ = Processes.check(Command.of(command), Deadline.after(Duration.ofSeconds(60)));
  }
}
