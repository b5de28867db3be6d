package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A daemon behind a real sshd, by address and by name. */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class RemoteIT {
  private static final String IMAGE = "localhost/remote:1";

  @TempDir private static Path directory;
  private static DaemonFixture daemon;
  private static Process sshd;
  private static int port;

  @BeforeAll
  static void start() throws Exception {
    daemon = DaemonFixture.start(directory.resolve("far")).withBusybox(IMAGE);
    port = freePort();
    host("ssh-keygen -q -t ed25519 -N '' -f host; ssh-keygen -q -t ed25519 -N '' -f user");
    Path bin = Files.createDirectory(directory.resolve("bin"));
    script(bin.resolve("zlayer"), "exec " + quoted(daemon.process()) + " \"$@\"");
    script(
        directory.resolve("ssh"),
        "exec /usr/bin/ssh -F %s \"$@\"".formatted(directory.resolve("ssh_config")));
    Files.copy(directory.resolve("user.pub"), directory.resolve("authorized_keys"));
    Files.writeString(
        directory.resolve("ssh_config"),
        """
        Host *
          IdentityFile %1$s/user
          IdentitiesOnly yes
          UserKnownHostsFile %1$s/known_hosts
          StrictHostKeyChecking accept-new
          BatchMode yes
        """
            .formatted(directory));
    String env =
        daemon.env().entrySet().stream()
            .map(variable -> "\"%s=%s\"".formatted(variable.getKey(), variable.getValue()))
            .collect(Collectors.joining(" "));
    Files.writeString(
        directory.resolve("sshd_config"),
        """
        ListenAddress 127.0.0.1:%2$d
        HostKey %1$s/host
        PidFile none
        AuthorizedKeysFile %1$s/authorized_keys
        StrictModes no
        UsePAM no
        PasswordAuthentication no
        PermitRootLogin prohibit-password
        SetEnv "PATH=%1$s/bin:/usr/bin:/bin" %3$s
        """
            .formatted(directory, port, env));
    Files.createDirectories(Path.of("/run/sshd"));
    sshd =
        Processes.start(
            Command.of(
                "/usr/sbin/sshd", "-D", "-e", "-f", directory.resolve("sshd_config").toString()),
            directory.resolve("sshd.log").toFile());
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .pollInterval(Duration.ofMillis(50))
        .until(RemoteIT::listening);
  }

  @AfterAll
  static void close() {
    if (sshd != null) {
      sshd.destroy();
    }
    daemon.close();
  }

  private static boolean listening() {
    try (var socket = new Socket()) {
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1000);
      return true;
    } catch (IOException _) {
      return false;
    }
  }

  private static int freePort() throws IOException {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private static String quoted(Iterable<String> words) {
    var text = new StringBuilder();
    words.forEach(word -> text.append(" '").append(word).append('\''));
    return text.toString();
  }

  private static void script(Path file, String line) throws IOException {
    Files.writeString(file, "#!/bin/sh\n" + line + "\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  private static void host(String script) throws InterruptedException {
    Processes.check(
        Command.of("sh", "-c", script).in(directory), Deadline.after(Duration.ofSeconds(30)));
  }

  /** A user of another machine: no variable of the daemon's. */
  private static CliFixture user(Path home, String... variables) {
    var env = new HashMap<String, String>();
    env.put("HOME", home.toString());
    env.put("ZLAYER_SSH", directory.resolve("ssh").toString());
    for (int at = 0; at < variables.length; at += 2) {
      env.put(variables[at], variables[at + 1]);
    }
    return new CliFixture(home, Map.copyOf(env));
  }

  private static String url() {
    return "ssh://root@127.0.0.1:" + port;
  }

  private static String ok(CliFixture user, String... words) {
    CliFixture.Result result = user.run(words);
    assertThat(result.code()).as(result.out() + result.err()).isZero();
    return result.out();
  }

  @Test
  void commandsWorkThroughSsh(@TempDir Path home) {
    CliFixture user = user(home, "ZLAYER_HOST", url());
    Json status = JsonText.parse(ok(user, "daemon", "status", "--json"));
    assertThat(status.at("data_dir").string()).contains(daemon.dataDirectory().toString());
    assertThat(status.at("address").string()).contains(url());

    assertThat(ok(user, "run", "--rm", IMAGE, "echo", "from afar")).isEqualTo("from afar\n");
    CliFixture.Result code = user.run("run", "--rm", IMAGE, "sh", "-c", "exit 7");
    assertThat(code.code()).isEqualTo(7);
    ok(user, "run", "-d", "--name", "far", IMAGE, "sleep", "1000");
    byte[] input = "x".repeat(300_000).getBytes(StandardCharsets.UTF_8);
    CliFixture.Result counted = user.runWithInput(input, "exec", "-i", "far", "wc", "-c");
    assertThat(counted.out().strip()).isEqualTo("300000");
    assertThat(ok(daemon.cli(), "ps", "--quiet").strip()).isNotEmpty();
    ok(user, "rm", "-f", "far");
  }

  @Test
  void whatIsWrongIsSaid(@TempDir Path home) throws Exception {
    CliFixture.Result nobody =
        user(home, "ZLAYER_HOST", "ssh://root@127.0.0.1:" + freePort()).run("ps");
    assertThat(nobody.code()).isNotZero();
    assertThat(nobody.err())
        .contains("cannot connect to the daemon at ssh://")
        .contains("Connection refused");
    CliFixture.Result noDaemon = user(home, "ZLAYER_HOST", url() + "/nowhere.sock").run("ps");
    assertThat(noDaemon.code()).isNotZero();
    assertThat(noDaemon.err()).contains("no daemon is running at /nowhere.sock");
    for (String bad :
        new String[] {"ssh://", "ssh://-oProxyCommand=x", "ssh://a:secret@h", "ssh://h/a;b"}) {
      CliFixture.Result refused = user(home, "ZLAYER_HOST", bad).run("ps");
      assertThat(refused.code()).as(bad).isEqualTo(2);
      assertThat(refused.err()).contains("ssh://[USER@]HOST").doesNotContain("secret");
    }
    assertThat(user(home, "ZLAYER_HOST", url() + "/nowhere.sock").run("daemon", "start").err())
        .contains("cannot start a daemon on a remote host");
  }

  @Test
  void contextsAreNamesForDaemons(@TempDir Path home) throws Exception {
    CliFixture user = user(home);
    ok(user, "context", "create", "--host", url(), "far");
    assertThat(user.run("context", "create", "--host", url(), "far").err()).contains("exists");
    assertThat(user.run("context", "create", "--host", "ftp://x", "odd").code()).isEqualTo(2);
    assertThat(user.run("context", "use", "nope").err()).contains("context ls");
    assertThat(user.run("ps").err()).as("none is in use yet").contains("no daemon is running");
    assertThat(ok(user, "daemon", "status", "--context", "far")).contains("running");

    ok(user, "context", "use", "far");
    assertThat(ok(user, "context", "ls")).containsPattern("far +\\* +ssh://root@127.0.0.1");
    assertThat(JsonText.parse(ok(user, "context", "show")).at("host").string()).contains(url());
    assertThat(ok(user, "daemon", "status")).contains(daemon.dataDirectory().toString());
    assertThat(ok(user, "context", "ls", "--quiet")).isEqualTo("default\nfar\n");
    Path file = home.resolve(".config/zlayer/contexts.json");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");

    // flag over environment over context
    CliFixture elsewhere = user(home, "ZLAYER_SOCKET", home.resolve("no.sock").toString());
    assertThat(elsewhere.run("ps").err()).contains("no.sock");
    assertThat(ok(elsewhere, "daemon", "status", "--context", "far")).contains("running");
    assertThat(user(home, "ZLAYER_CONTEXT", "default").run("ps").code()).isNotZero();
    CliFixture.Result warned = user(home, "ZLAYER_HOST", url()).run("context", "use", "default");
    assertThat(warned.err()).contains("ZLAYER_HOST is set and overrides this");

    ok(user, "context", "use", "far");
    assertThat(user.run("context", "rm", "far").err()).contains("is in use");
    ok(user, "context", "rm", "--force", "far");
    assertThat(ok(user, "context", "ls", "--quiet")).isEqualTo("default\n");
  }
}
