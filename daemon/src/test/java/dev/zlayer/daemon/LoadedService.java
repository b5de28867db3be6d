package dev.zlayer.daemon;

import static dev.zlayer.daemon.IngressNode.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The service shop/web under the full load of wrk. */
final class LoadedService implements AutoCloseable {
  static final String GOOD = "[httpd, -f, -p, \"8080\", -h, /etc]";
  private static final Pattern REQUESTS = Pattern.compile("([0-9]+) requests in");

  private final IngressNode node;
  private final Process wrk;
  private final Path output;

  private LoadedService(IngressNode node, Process wrk, Path output) {
    this.node = node;
    this.wrk = wrk;
    this.output = output;
  }

  /** As a new revision; {@code update} are further keys of its update. */
  static void up(IngressNode node, String command, String version, String update) throws Exception {
    node.up(
        "shop",
        """
        web:
          image: IMAGE
          command: %s
          env: {VERSION: %s}
          scale: {mode: manual}
          health: {check: {type: tcp, port: 8080}, interval: 200ms, timeout: 5s}
          stop_grace_period: 1s
          update: {min_healthy_time: 0s%s}
          endpoints: [{name: http, protocol: http, port: 8080, host: shop.test, hold: 30s}]
        """
            .formatted(command, version, update));
  }

  static LoadedService open(IngressNode node) throws Exception {
    await("it serves", () -> IngressNode.status(node.get("shop.test", "/passwd")) == 200);
    Path output = Files.createTempFile("wrk", ".txt");
    Process wrk =
        Processes.start(
            Command.of(
                "wrk",
                "-t1",
                "-c8",
                "-d240s",
                "--timeout",
                "40s",
                "-H",
                "Host: shop.test",
                "http://127.0.0.1:%d/passwd".formatted(node.port)),
            output.toFile());
    return new LoadedService(node, wrk, output);
  }

  /** Ends the load. Requests were served, and none failed. */
  void assertNoneFailed() throws Exception {
    Processes.check(
        Command.of("kill", "-INT", Long.toString(wrk.pid())),
        Deadline.after(Duration.ofSeconds(30)));
    assertThat(wrk.waitFor(60, TimeUnit.SECONDS)).isTrue();
    String report = Files.readString(output);
    assertThat(report).doesNotContain("Non-2xx", "Socket errors");
    Matcher requests = REQUESTS.matcher(report);
    assertThat(requests.find()).as(report).isTrue();
    assertThat(Long.parseLong(requests.group(1))).isPositive();
  }

  Json status() throws InterruptedException {
    return node.service("shop", "web");
  }

  int replicas() throws InterruptedException {
    return status().at("replicas").items().size();
  }

  void awaitReady(int replicas) {
    await(
        replicas + " are ready",
        () -> status().at("ready").integer().orElse(-1L) == replicas && replicas() == replicas);
  }

  void awaitUpdated(long revision) {
    await(
        "updated",
        () -> {
          Json now = status();
          return now.at("state").string().orElse("").equals("running")
              && now.at("revision").integer().orElse(0L) == revision
              && now.at("rollout").isNull();
        });
  }

  long revision() throws InterruptedException {
    return status().at("revision").integer().orElseThrow();
  }

  @Override
  public void close() throws Exception {
    wrk.destroyForcibly();
    Files.deleteIfExists(output);
  }
}
