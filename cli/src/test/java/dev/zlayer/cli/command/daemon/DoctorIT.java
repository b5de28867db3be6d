package dev.zlayer.cli.command.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Real faults are found, each with what to do. */
@Timeout(120)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI})
class DoctorIT {
  @TempDir Path directory;

  private Map<String, String> env(String... more) {
    var env =
        new HashMap<>(
            Map.of(
                "ZLAYER_DATA_DIR", directory.resolve("data").toString(),
                "ZLAYER_CONFIG_DIR", directory.resolve("etc").toString(),
                "HOME", directory.toString()));
    for (int i = 0; i < more.length; i += 2) {
      env.put(more[i], more[i + 1]);
    }
    return env;
  }

  private CliFixture.Result doctor(String... more) {
    return new CliFixture(directory, env(more)).run("doctor", "--json");
  }

  /** The status of a check, with its remedy. */
  private static String check(String out, String name) {
    return JsonText.parse(out).at("checks").items().stream()
        .filter(one -> one.at("check").string().orElse("").equals(name))
        .map(DoctorIT::text)
        .findFirst()
        .orElse("no such check");
  }

  private static String text(Json one) {
    return "%s: %s; %s"
        .formatted(
            one.at("status").string().orElse(""),
            one.at("detail").string().orElse(""),
            one.at("remedy").string().orElse(""));
  }

  @Test
  void aHostInOrderHasNothingThatFailed() {
    CliFixture.Result result = doctor();
    assertThat(result.code()).as(result.out()).isZero();
    for (String name :
        List.of(
            "configuration",
            "kernel",
            "overlayfs",
            "oci-runtime",
            "conmon",
            "bridge",
            "nft",
            "firewall",
            "data-directory",
            "disk",
            "port",
            "certificates")) {
      assertThat(check(result.out(), name)).as(name).startsWith("ok");
    }
    assertThat(check(result.out(), "daemon")).contains("warning", "zlayer daemon start");
    assertThat(check(result.out(), "dns")).doesNotContain("no such check");
    assertThat(check(result.out(), "clock")).doesNotContain("no such check");
    assertThat(directory.resolve("data")).as("nothing is made").doesNotExist();

    CliFixture.Result table = new CliFixture(directory, env()).run("doctor");
    assertThat(table.out()).contains("CHECK", "STATUS", "DETAIL").containsPattern("0 failed");
  }

  @Test
  void aRunningDaemonIsChecked() {
    try (var daemon = DaemonFixture.start(directory)) {
      CliFixture.Result result = daemon.cli().run("doctor", "--json");
      assertThat(result.code()).as(result.out()).isZero();
      assertThat(check(result.out(), "daemon")).startsWith("ok").contains("answers");
      assertThat(check(result.out(), "health")).startsWith("ok");
    }
  }

  @Test
  void aMissingProgramIsNamedWithItsPackage() throws Exception {
    String conmon = Processes.check(Command.of("sh", "-c", "command -v conmon"), soon()).stdout();
    CommandResult result = process("mount --bind /dev/null " + conmon.strip() + " && exec \"$@\"");
    assertThat(result.code()).as(result.stdout() + result.stderr()).isEqualTo(1);
    assertThat(check(result.stdout(), "conmon"))
        .startsWith("failed")
        .contains("apt install conmon");

    CliFixture.Result named = doctor("ZLAYER_OCI_RUNTIME", "no-such-runtime");
    assertThat(named.code()).isEqualTo(1);
    assertThat(check(named.out(), "oci-runtime")).startsWith("failed").contains("no-such-runtime");
  }

  @Test
  void aResolverWithoutServersIsAWarning() throws Exception {
    Path empty = Files.writeString(directory.resolve("resolv.conf"), "# none\n");
    CommandResult result = process("mount --bind " + empty + " /etc/resolv.conf && exec \"$@\"");
    assertThat(result.code()).as(result.stdout() + result.stderr()).isZero();
    assertThat(check(result.stdout(), "dns")).startsWith("warning").contains("names no server");
  }

  @Test
  void aDirectoryThatCannotBeWrittenFails() throws Exception {
    Path data = Files.createDirectories(directory.resolve("data"));
    CommandResult result = process("mount -t tmpfs -o ro tmpfs " + data + " && exec \"$@\"");
    assertThat(result.code()).as(result.stdout() + result.stderr()).isEqualTo(1);
    assertThat(check(result.stdout(), "data-directory")).startsWith("failed").contains("writable");
  }

  @Test
  void aFullDiskFails() throws Exception {
    Path data = Files.createDirectories(directory.resolve("data"));
    CommandResult result = process("mount -t tmpfs -o size=1m tmpfs " + data + " && exec \"$@\"");
    assertThat(result.code()).as(result.stdout() + result.stderr()).isEqualTo(1);
    assertThat(check(result.stdout(), "disk")).startsWith("failed").contains("system prune");
  }

  @Test
  void aPortThatIsTakenIsNamedWithItsOwner() throws Exception {
    try (var taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      CliFixture.Result result = doctor("ZLAYER_LISTEN", "127.0.0.1:" + taken.getLocalPort());
      assertThat(result.code()).isEqualTo(1);
      assertThat(check(result.out(), "port"))
          .startsWith("failed")
          .contains("in use by", "(pid %d)".formatted(ProcessHandle.current().pid()));
    }
  }

  @Test
  void certificatesThatAreMissingOrExpiredFail() throws Exception {
    Path key = directory.resolve("key.pem");
    Path certificate = directory.resolve("cert.pem");
    String[] settings = {
      "ZLAYER_TLS_CERTIFICATE", certificate.toString(), "ZLAYER_TLS_KEY", key.toString()
    };
    assertThat(check(doctor(settings).out(), "certificates")).startsWith("failed");
    certificate(3);
    assertThat(check(doctor(settings).out(), "certificates"))
        .startsWith("warning")
        .contains("renew");
    certificate(400);
    assertThat(check(doctor(settings).out(), "certificates")).startsWith("ok");
    certificate(-1);
    assertThat(check(doctor(settings).out(), "certificates"))
        .startsWith("failed")
        .contains("expired");
  }

  private void certificate(int days) throws InterruptedException {
    String script =
        """
        openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=node \
          -keyout key.pem -out request.pem &&
        openssl x509 -req -in request.pem -signkey key.pem -days %d -out cert.pem
        """
            .formatted(days);
    Processes.check(Command.of("sh", "-c", script).in(directory), soon());
  }

  @Test
  void aClockThatWentBackFails() throws Exception {
    Path state = Files.createDirectories(directory.resolve("data")).resolve("state.db");
    Files.writeString(state, "");
    Files.setLastModifiedTime(state, FileTime.from(Instant.now().plus(Duration.ofDays(1))));
    CliFixture.Result result = doctor();
    assertThat(result.code()).isEqualTo(1);
    assertThat(check(result.out(), "clock")).startsWith("failed").contains("set the clock");
  }

  @Test
  void aTokenThatOthersCanReadAndAWrongConfigurationFail() throws Exception {
    Path token = Files.writeString(directory.resolve("token"), "secret");
    Files.setPosixFilePermissions(token, PosixFilePermissions.fromString("rw-r--r--"));
    CliFixture.Result result = doctor("ZLAYER_TOKEN_FILE", token.toString());
    assertThat(check(result.out(), "token-file")).startsWith("failed").contains("chmod 600");

    CliFixture.Result wrong = doctor("ZLAYER_NETWORK_POOL", "many");
    assertThat(wrong.code()).isEqualTo(1);
    assertThat(check(wrong.out(), "configuration"))
        .startsWith("failed")
        .contains("ZLAYER_NETWORK_POOL");
    assertThat(check(wrong.out(), "kernel"))
        .as("the others are checked all the same")
        .startsWith("ok");
  }

  /** In a mount namespace of its own, with the fault that the script makes there. */
  private CommandResult process(String script) throws InterruptedException {
    var words =
        new ArrayList<>(
            List.of("unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"));
    words.addAll(DaemonFixture.in(directory).process("doctor", "--json"));
    return Processes.run(Command.of(words).withEnv(env()), soon());
  }

  private static Deadline soon() {
    return Deadline.after(Duration.ofSeconds(60));
  }
}
