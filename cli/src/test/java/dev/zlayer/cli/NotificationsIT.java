package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Operators hear of failures, through a real receiver, across kills of the daemon. */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class NotificationsIT {
  private static final String IMAGE = "localhost/notify:1";
  private static final String SECRET = "correct-horse-battery";

  @TempDir private Path directory;
  private final List<Json> received = new CopyOnWriteArrayList<>();
  private final List<String> attempts = new CopyOnWriteArrayList<>();
  private volatile int status = 204;
  private HttpServer server;

  @BeforeEach
  void listen() throws Exception {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          byte[] body = exchange.getRequestBody().readAllBytes();
          int answer = status; // a test changes it as soon as it sees the attempt
          attempts.add(exchange.getRequestHeaders().getFirst("X-Zlayer-Event"));
          if (answer == 204) {
            received.add(JsonText.parse(body));
          } else if (answer == 302) {
            exchange.getResponseHeaders().set("Location", "/elsewhere");
          }
          exchange.sendResponseHeaders(answer, -1);
          exchange.close();
        });
    server.start();
  }

  @AfterEach
  void close() {
    server.stop(0);
  }

  private static ConditionFactory soon() {
    return Awaitility.await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(50));
  }

  private String url() {
    return "http://127.0.0.1:%d/hook/token-4711".formatted(server.getAddress().getPort());
  }

  private void configure(String text) throws Exception {
    Files.createDirectories(directory.resolve("etc"));
    Files.writeString(directory.resolve("etc/zlayer.yml"), text);
  }

  @Test
  void aFailedJobIsReportedOnceAcrossKills() throws Exception {
    configure("notifications: [{name: ops, webhook: '%s', on: [job_failed]}]\n".formatted(url()));
    status = 503;
    try (var daemon = DaemonFixture.start(directory).withBusybox(IMAGE)) {
      daemon.cli().run("run", "--name", "other", IMAGE, "false"); // no job: not reported
      Path file = directory.resolve("jobs.yml");
      Files.writeString(
          file,
          """
          version: v1
          deployment: nights
          services:
            report:
              rtype: job
              image: {name: "%s", pull_policy: never}
              network_mode: none
              command: [sh, -c, "exit 9"]
          """
              .formatted(IMAGE));
      daemon.ok("up", file.toString());
      assertThat(daemon.cli().run("job", "run", "--wait", "nights/report").code()).isNotZero();
      soon().until(() -> attempts.size() >= 2);
      daemon.kill();
      assertThat(received).isEmpty();

      status = 302;
      daemon.restart();
      int before = attempts.size();
      soon().until(() -> attempts.size() > before);
      assertThat(received).as("a redirect is not followed").isEmpty();
      status = 204;
      soon().until(() -> received.size() == 1);
      Json body = received.getFirst();
      assertThat(body.at("on").string()).contains("job_failed");
      assertThat(body.at("kind").string()).contains("job.failed");
      assertThat(body.at("text").string().orElse("")).contains("nights/report failed");
      assertThat(body.at("reason").string().orElse("")).contains("9");
      assertThat(attempts).as("one event only").containsOnly(attempts.getFirst());

      // the next one comes after it, and the first one is not sent again
      daemon.kill();
      daemon.restart();
      daemon.cli().run("job", "run", "--wait", "nights/report");
      soon().until(() -> received.size() == 2);
      assertThat(received.get(1).at("sequence").integer().orElseThrow())
          .isGreaterThan(body.at("sequence").integer().orElseThrow());

      Json shown = daemon.json("config", "show", "--json").at("notifications").at("value");
      assertThat(shown.string().orElse("")).contains("name: ops").doesNotContain("token-4711");
      status = 400;
      daemon.cli().run("job", "run", "--wait", "nights/report");
      soon().until(() -> daemon.ok("events", "--json").contains("notification.dropped"));
    }
  }

  @Test
  void servicesAndTheDiskAreReportedWithoutSecrets() throws Exception {
    Path seen = directory.resolve("seen");
    Path program = directory.resolve("notify.sh");
    Files.writeString(program, "#!/bin/sh\ncat >> \"$1\"\necho >> \"$1\"\n");
    Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwx------"));
    configure(
        """
        image_gc_high: 1
        image_gc_low: 0
        notifications:
          - name: hook
            webhook: %s
            on: [crash_loop, rollout_failed]
          - name: program
            command: [%s, %s]
            on: [disk_pressure, rollout_failed]
            template: '{on} of {subject}: {reason}'
        """
            .formatted(url(), program, seen));
    try (var daemon = DaemonFixture.start(directory).withBusybox(IMAGE)) {
      soon().until(() -> Files.exists(seen));
      assertThat(Files.readString(seen)).startsWith("disk_pressure of images: the disk is ");

      var set =
          daemon
              .cli()
              .runWithInput(
                  SECRET.getBytes(StandardCharsets.UTF_8),
                  "secret",
                  "set",
                  "--deployment",
                  "shop",
                  "pw");
      assertThat(set.code()).as(set.err()).isZero();
      Path file = directory.resolve("shop.yml");
      Files.writeString(file, service("echo $PW; exit 5"));
      daemon.ok("up", "--no-wait", file.toString());
      soon().until(() -> received.stream().anyMatch(body -> on(body, "crash_loop")));
      Json crash = received.stream().filter(body -> on(body, "crash_loop")).findFirst().get();
      assertThat(JsonText.print(crash)).contains("shop/web").doesNotContain(SECRET);

      Files.writeString(file, service("exec sleep 1000"));
      daemon.ok("up", file.toString());
      Files.writeString(file, service("exit 6"));
      assertThat(daemon.cli().run("up", file.toString()).code()).isNotZero();
      soon().until(() -> received.stream().anyMatch(body -> on(body, "rollout_failed")));
      soon().until(() -> Files.readString(seen).contains("rollout_failed of shop/web: "));
    }
  }

  private static boolean on(Json body, String trigger) {
    return body.at("on").string().filter(trigger::equals).isPresent();
  }

  private static String service(String script) {
    return """
    version: v1
    deployment: shop
    services:
      web:
        image: {name: "%s", pull_policy: never}
        network_mode: none
        stop_grace_period: 1s
        env: {PW: "$S:pw"}
        command: [sh, -c, "%s"]
    """
        .formatted(IMAGE, script);
  }

  @Test
  void badSettingsAreRefusedWithTheirPath() throws Exception {
    configure(
        """
        notifications:
          - {name: a, webhook: "ftp://x/secret-path"}
          - {name: b, command: [notify]}
          - {name: c}
          - {name: d, webhook: "http://x/", on: [fire]}
          - {name: e, webhook: "http://x/", template: "{colour}"}
          - {name: f, webhook: "http://x/", template: '{"text": '}
          - {name: g, webhook: "http://x/"}
          - {name: g, webhook: "http://x/"}
        """);
    var refused = DaemonFixture.in(directory).cli().run("config", "show", "--local");
    assertThat(refused.code()).isNotZero();
    assertThat(refused.err())
        .contains("notifications[0].webhook: the webhook needs http:// or https://")
        .doesNotContain("secret-path")
        .contains("notifications[1].command[0]: must be an absolute path")
        .contains("notifications[2]: needs either webhook or command")
        .contains("notifications[3].on[0]")
        .contains("notifications[4].template: {colour} is not known")
        .contains("notifications[5].template: the template begins like JSON")
        .contains("notifications[7].name: 'g' is used twice");
  }
}
