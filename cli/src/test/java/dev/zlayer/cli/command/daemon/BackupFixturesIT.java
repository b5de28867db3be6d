package dev.zlayer.cli.command.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.http.HttpClient;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Backups that earlier programs made lie among the resources and are never changed: all of them can
 * be restored, and nothing in them is damaged. When a backup holds something else than the newest
 * of them, a new one is needed beside it: {@code ZLAYER_UPDATE_FIXTURES=1} writes it.
 */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class BackupFixturesIT {
  private static final Path FIXTURES = Path.of("src/test/resources/backup");
  private static final String IMAGE = "localhost/fixture:1";

  /** A program of any time may restore it, so nothing in it expires. */
  private static final String SHOP =
      """
      version: v1
      deployment: shop
      services:
        migrate:
          rtype: job
          image: {name: "localhost/fixture:1", pull_policy: never}
          network_mode: none
          command: ["true"]
          job: {retention: {age: 36500d, failed_age: 36500d}}
        web:
          image: {name: "localhost/fixture:1", pull_policy: never}
          command: {args: [sh, -c, "%s"]}
          network_mode: none
          stop_signal: KILL
          env: {WORD: "$S:word"}
          depends: [{service: migrate, condition: completed}]
        report:
          rtype: job
          image: {name: "localhost/fixture:1", pull_policy: never}
          network_mode: none
          command: [sh, -c, "echo kept > /tmp/result; echo reported; exit 4"]
          job: {artifacts: [/tmp/result], retries: 0, retention: {failed_age: 36500d}}
        yearly:
          rtype: cron
          schedule: "0 3 1 1 *"
          image: {name: "localhost/fixture:1", pull_policy: never}
          network_mode: none
          command: ["true"]
      """;

  private static final String SINGLE =
      """
      image: {name: "localhost/fixture:1", pull_policy: never}
      network_mode: none
      command: [sh, -c, "echo single"]
      job: {retention: {age: 36500d}}
      """;

  @TempDir Path directory;

  static List<Path> fixtures() throws IOException {
    try (Stream<Path> all = Files.list(FIXTURES)) {
      return all.sorted().toList();
    }
  }

  @ParameterizedTest
  @MethodSource("fixtures")
  void aBackupOfEveryVersionIsRestored(Path fixture) throws Exception {
    Path archive = unzipped(fixture);
    try (DaemonFixture daemon = DaemonFixture.in(directory)) {
      daemon.ok("daemon", "restore", archive.toString());
      daemon.restart();

      assertThat(daemon.json("info", "--json").at("damages").strings()).isEmpty();
      assertThat(daemon.ok("status")).contains("shop");
      assertThat(daemon.json("revisions", "shop", "--json").items()).hasSize(2);
      assertThat(daemon.ok("job", "status", "shop/report")).contains("failed (4)");
      assertThat(daemon.ok("job", "logs", "shop/report")).isEqualTo("reported\n");
      assertThat(daemon.ok("job", "status", "shop/migrate")).contains("completed");
      assertThat(daemon.ok("job", "artifacts", "shop/report")).contains("/tmp/result");
      assertThat(daemon.ok("job", "logs", "single")).isEqualTo("single\n");
      assertThat(daemon.ok("cron", "ls")).contains("yearly");
      assertThat(daemon.ok("token", "ls")).contains("reader");
      assertThat(daemon.ok("network", "ls")).contains("fixnet");
      assertThat(daemon.ok("ps", "--all")).as("ended replicas").contains("shop/web");
      assertThat(daemon.ok("events")).contains("deployment");
      String before = daemon.ok("secret", "ls", "--json");
      secret(daemon);
      assertThat(daemon.ok("secret", "ls", "--json"))
          .as("the same value: the key opens what was sealed with it")
          .isEqualTo(before);
      daemon.ok("network", "rm", "fixnet");
    }
  }

  @Test
  void theNewestFixtureHoldsWhatABackupHolds() throws Exception {
    Path made = directory.resolve("made.tar");
    Files.createDirectories(directory.resolve("etc"));
    Files.writeString(
        directory.resolve("etc/zlayer.yml"),
        "notifications: [{name: ops, command: [/bin/true], on: [job_failed]}]\n");
    try (DaemonFixture daemon = DaemonFixture.start(directory).withBusybox(IMAGE)) {
      fill(daemon);
      daemon.ok("daemon", "backup", made.toString());
      daemon.ok("network", "rm", "fixnet");
    }
    List<Path> fixtures = fixtures();
    String now = content(made, "made");
    String before = fixtures.isEmpty() ? "" : content(unzipped(fixtures.getLast()), "newest");
    if (!now.equals(before) && System.getenv("ZLAYER_UPDATE_FIXTURES") != null) {
      Path next = FIXTURES.resolve("v%03d.tar.gz".formatted(fixtures.size() + 1));
      try (var out = new GZIPOutputStream(Files.newOutputStream(next))) {
        Files.copy(made, out);
      }
      return;
    }
    assertThat(now)
        .as("a backup holds something else than %s: a new fixture is needed", fixtures)
        .isEqualTo(before);
  }

  /** Something of every kind that is stored. */
  private void fill(DaemonFixture daemon) throws Exception {
    secret(daemon);
    daemon.ok("token", "create", "--name", "reader", "--read-only");
    daemon.ok("network", "create", "fixnet", "--subnet", "10.213.9.0/24");
    deploy(daemon, "exit 3");
    Awaitility.await()
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(100))
        .untilAsserted(() -> assertThat(daemon.ok("events")).contains("replica.exited"));
    deploy(daemon, "exec sleep 1000");
    daemon.ok("status", "shop");
    assertThat(daemon.cli().run("job", "run", "--wait", "shop/report").code()).isEqualTo(4);
    Files.writeString(directory.resolve("single.yml"), SINGLE);
    daemon.ok("job", "run", "-f", "single.yml", "--wait");
    daemon.ok("run", "-d", "--name", "one", "--network", "none", IMAGE, "sleep", "1000");
    daemon.ok("update", "--restart", "always", "one");
    daemon.ok("stop", "--time", "0", "one");
    Path socket = DataDir.of(daemon.dataDirectory()).socket();
    String body = "{\"image\":\"%s\",\"name\":\"two\",\"command\":[\"true\"]}".formatted(IMAGE);
    send(
        socket,
        HttpRequest.of("POST", "/api/v1/containers").with("Idempotency-Key", "k").withJson(body));
    send(
        DataDir.of(daemon.dataDirectory()).dockerSocket(),
        HttpRequest.of("POST", "/volumes/create")
            .withJson("{\"Name\":\"docks\",\"Labels\":{\"a\":\"b\"}}"));
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .pollInterval(Duration.ofMillis(100))
        .ignoreExceptionsInstanceOf(SQLException.class) // the daemon writes to it meanwhile
        .until(() -> kinds(daemon).contains("notification.position"));
  }

  private void deploy(DaemonFixture daemon, String script) throws IOException {
    Files.writeString(directory.resolve("shop.yml"), SHOP.formatted(script));
    daemon.ok("up", "shop.yml", "--no-wait");
  }

  private static java.util.Set<String> kinds(DaemonFixture daemon) throws SQLException {
    return records(DataDir.of(daemon.dataDirectory()).stateFile()).keySet();
  }

  private static void secret(DaemonFixture daemon) {
    CliFixture.Result set =
        daemon
            .cli()
            .runWithInput("hidden".getBytes(StandardCharsets.UTF_8), "secret", "set", "word");
    assertThat(set.code()).as(set.err()).isZero();
  }

  private static void send(Path socket, HttpRequest request) throws InterruptedException {
    try (var client = HttpClient.open(new HttpAddress.Unix(socket));
        var answer = client.send(request, Deadline.after(Duration.ofSeconds(30)))) {
      assertThat(answer.status()).as(answer.text(1 << 20)).isEqualTo(201);
    }
  }

  private Path unzipped(Path fixture) throws IOException {
    Path archive = directory.resolve("fixture.tar");
    try (var in = new GZIPInputStream(Files.newInputStream(fixture))) {
      Files.write(archive, in.readAllBytes());
    }
    return archive;
  }

  /** Which files it has, which kinds of records, and in what format each is. */
  private String content(Path archive, String name) throws Exception {
    Path unpacked = Files.createDirectories(directory.resolve(name));
    dev.zlayer.runtime.observe.DirectoryArchive.read(unpacked, Files.newInputStream(archive));
    var lines = new ArrayList<String>();
    try (Stream<Path> files = Files.walk(unpacked)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        String path = unpacked.relativize(file).toString().replaceAll("[0-9a-z]{20,}", "ID");
        lines.add(path.endsWith(".json") ? path + ": " + shape(Files.readAllBytes(file)) : path);
      }
    }
    lines.sort(null);
    Path state = unpacked.resolve("state.db");
    records(state).forEach((kind, shapes) -> lines.add(kind + ": " + String.join(" or ", shapes)));
    try (var connection = DriverManager.getConnection("jdbc:sqlite:" + state);
        var rows = connection.createStatement().executeQuery("SELECT sql FROM sqlite_schema")) {
      while (rows.next()) {
        lines.add(String.valueOf(rows.getString(1)));
      }
    }
    return String.join("\n", lines) + "\n";
  }

  private static Map<String, TreeSet<String>> records(Path state) throws SQLException {
    var found = new TreeMap<String, TreeSet<String>>();
    try (var connection = DriverManager.getConnection("jdbc:sqlite:" + state);
        var rows = connection.createStatement().executeQuery("SELECT kind, value FROM record")) {
      while (rows.next()) {
        found.computeIfAbsent(rows.getString(1), _ -> new TreeSet<>()).add(shape(rows.getBytes(2)));
      }
    }
    return found;
  }

  /** Its version; the names of its members where it has none. */
  private static String shape(byte[] value) {
    Json json;
    try {
      json = JsonText.parse(value);
    } catch (AgentException _) {
      return "bytes";
    }
    if (!(json instanceof Json.Obj object)) {
      return json.getClass().getSimpleName();
    }
    return object
        .at("version")
        .integer()
        .map(version -> "version " + version)
        .orElseGet(() -> new TreeSet<>(object.members().keySet()).toString());
  }
}
