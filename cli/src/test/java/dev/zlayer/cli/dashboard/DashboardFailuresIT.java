package dev.zlayer.cli.dashboard;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.assertions.LocatorAssertions;
import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Ten things that go wrong, all real and all at the same time: the first screen says why, for each.
 */
@Timeout(120)
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.HAPROXY,
  Fact.OPENSSL,
  Fact.CHROMIUM
})
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class DashboardFailuresIT {
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final String IDLE =
      "image: {name: \"bb:1\"}\n"
          + "    command: [sh, -c, \"trap 'exit 0' TERM; while :; do sleep 0.2; done\"]";

  @TempDir static Path directory;
  private static Path disk;
  private static ServerSocket taken;
  private static DaemonFixture daemon;
  private static BrowserFixture browser;
  private static DashboardPage dashboard;

  @BeforeAll
  static void seed() throws Exception {
    disk = Files.createDirectory(directory.resolve("disk"));
    run("mount", "-t", "tmpfs", "-o", "size=128m", "tmpfs", disk.toString());
    taken = new ServerSocket(0);
    daemon =
        DaemonFixture.start(
                disk,
                Map.of(
                    "ZLAYER_INGRESS_HTTP", "127.0.0.1:" + DashboardFixture.freePort(),
                    "ZLAYER_INGRESS_HTTPS", "127.0.0.1:" + DashboardFixture.freePort(),
                    "ZLAYER_IMAGE_GC_HIGH", "0"))
            .withBusybox("bb:1");
    CliFixture.Result secret =
        daemon.cli().runWithInput(expired("old.test"), "secret", "set", "old-tls");
    assertThat(secret.code()).as(secret.err()).isZero();
    up("image", "image: {name: \"127.0.0.1:1/none:1\"}");
    up("crash", service("echo the disk is on fire; exit 3"));
    up(
        "probe",
        IDLE
            + "\n"
            + "    health: {check: {type: command, command: \"echo cannot reach the database; exit"
            + " 1\"}, start_grace: 0s, interval: 200ms, retries: 2, on_unhealthy: none}");
    up(
        "port",
        """
        image: {name: "bb:1"}
            command: [httpd, -f, -p, "%1$d"]
            endpoints: [{name: http, protocol: http, port: %1$d, expose: public}]
        """
            .strip()
            .formatted(taken.getLocalPort()));
    up("secret", IDLE + "\n    env: {PASSWORD: \"$S:database-password\"}");
    up("memory", service("echo loading; tail /dev/zero") + "\n    resources: {memory: 16Mi}");
    up(
        "late",
        IDLE
            + "\n    depends: [{service: slow, timeout: 1s}]\n  slow:\n    "
            + IDLE
            + "\n"
            + "    health: {check: {type: command, command: \"false\"}, interval: 1s, start_grace:"
            + " 60s}");
    up(
        "migrate",
        IDLE
            + "\n"
            + "    depends: [{service: schema, condition: completed}]\n"
            + "  schema:\n"
            + "    rtype: job\n"
            + "    "
            + service("echo relation users already exists; exit 7"));
    up(
        "tls",
        IDLE
            + "\n"
            + "    endpoints: [{name: web, protocol: https, port: 8080, host: old.test, tls:"
            + " {secret: old-tls}}]");
    browser = new BrowserFixture();
    dashboard = new DashboardPage(browser.open(daemon.ok("dashboard").strip()));
  }

  @AfterAll
  static void stop() throws Exception {
    try {
      if (dashboard != null) {
        dashboard.close();
      }
    } finally {
      end();
    }
  }

  private static void end() throws Exception {
    if (browser != null) {
      browser.close();
    }
    if (disk != null) {
      Files.deleteIfExists(disk.resolve("ballast"));
    }
    if (daemon != null) {
      daemon.close();
    }
    if (taken != null) {
      taken.close();
    }
    if (disk != null) {
      run("umount", disk.toString());
    }
  }

  private static String service(String script) {
    return "image: {name: \"bb:1\"}\n    command: [sh, -c, \"" + script + "\"]";
  }

  /** One deployment with the service {@code app}. */
  private static void up(String name, String app) throws IOException {
    Path file =
        Files.writeString(
            directory.resolve(name + ".yml"),
            "version: v1\ndeployment: %s\nservices:\n  app:\n    %s\n".formatted(name, app));
    CliFixture.Result result = daemon.cli().run("up", "-f", file.toString(), "--no-wait");
    assertThat(result.code()).as(result.out() + result.err()).isZero();
  }

  private static byte[] expired(String host) throws Exception {
    Path store = directory.resolve("expired.p12");
    Path keytool = Path.of(System.getProperty("java.home"), "bin", "keytool");
    run(
        (keytool
                + " -genkeypair -alias own -keyalg EC -groupname secp256r1 -storetype PKCS12"
                + " -storepass password -startdate -20d -validity 10 -dname CN="
                + host
                + " -ext san=dns:"
                + host
                + " -keystore "
                + store)
            .split(" "));
    return run("openssl", "pkcs12", "-in", store.toString(), "-nodes", "-passin", "pass:password")
        .stdout()
        .getBytes(java.nio.charset.StandardCharsets.UTF_8);
  }

  private static CommandResult run(String... command) throws InterruptedException {
    return Processes.check(Command.of(List.of(command)), Deadline.after(LIMIT));
  }

  /** What the first screen says of one of the failing things. */
  private static void says(String name, String... reasons) {
    Locator failure =
        dashboard
            .page()
            .locator("section[aria-label=Failing] article")
            .filter(
                new Locator.FilterOptions()
                    .setHas(
                        dashboard
                            .page()
                            .locator(
                                "h3 a",
                                new com.microsoft.playwright.Page.LocatorOptions()
                                    .setHasText(name))));
    for (String reason : reasons) {
      assertThat(failure)
          .containsText(reason, new LocatorAssertions.ContainsTextOptions().setTimeout(30_000));
    }
  }

  @Test
  @Order(1)
  void anImageThatCannotBePulled() {
    says("image/app", "127.0.0.1:1/none:1", "refused");
  }

  @Test
  @Order(1)
  void aCrashLoopWithItsLastWords() {
    says("crash/app", "exit code 3", "the disk is on fire");
  }

  @Test
  @Order(1)
  void aHealthCheckThatFailsWithWhatItSaid() {
    says("probe/app", "health check", "cannot reach the database");
  }

  @Test
  @Order(1)
  void aPortThatAnotherProgramHas() {
    says("port/app", String.valueOf(taken.getLocalPort()), "in use");
  }

  @Test
  @Order(1)
  void aSecretThatWasNeverSet() {
    says("secret/app", "secret database-password not found", "secret set");
  }

  @Test
  @Order(1)
  void aProcessThatNeedsMoreMemoryThanItMay() {
    says("memory/app", "memory");
  }

  @Test
  @Order(1)
  void aDependencyThatIsNotReadyInTime() {
    says("late/app", "slow", "1s");
  }

  @Test
  @Order(1)
  void aMigrationThatFailedWithItsOutputAndWhoWaitsForIt() {
    says("migrate/schema", "code 7", "relation users already exists");
    says("migrate/app", "schema");
  }

  @Test
  @Order(1)
  void aCertificateThatHasExpired() {
    says("old.test", "expired at");
  }

  @Test
  @Order(2)
  void aDiskThatIsFull() throws IOException {
    try (OutputStream ballast = Files.newOutputStream(disk.resolve("ballast"))) {
      for (int size = 1 << 20; size > 1024; size /= 2) {
        fill(ballast, new byte[size]);
      }
    }

    says("this node", "no space is left on the disk of", "MiB are free", "zlayer doctor");
  }

  private static void fill(OutputStream ballast, byte[] block) {
    try {
      while (true) {
        ballast.write(block);
      }
    } catch (IOException _) {
      // no space is left for a block of this size
    }
  }
}
