package dev.zlayer.engine.s3;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.s3.S3Server;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where an agent finds keys when a step names none: environment, profile, role, in this order. */
class S3CredentialsIT {
  private static S3Server server;
  private static HttpServer role;
  private static final AtomicInteger ASKED = new AtomicInteger();

  @TempDir Path directory;

  @BeforeAll
  static void serve() throws Exception {
    server = S3Server.open("things");
    server.put("things", "one", "1".getBytes(StandardCharsets.UTF_8));
    role = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    role.createContext(
        "/",
        exchange -> {
          ASKED.incrementAndGet();
          byte[] answer =
              """
              {"AccessKeyId":"%s","SecretAccessKey":"%s","Expiration":"%s"}\
              """
                  .formatted(
                      S3Server.ACCESS_KEY,
                      S3Server.SECRET_KEY,
                      Instant.now().plus(Duration.ofHours(1)))
                  .getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(200, answer.length);
          exchange.getResponseBody().write(answer);
          exchange.close();
        });
    role.start();
  }

  @AfterAll
  static void stop() throws Exception {
    role.stop(0);
    server.close();
  }

  @BeforeEach
  void count() {
    ASKED.set(0);
  }

  @Test
  void theEnvironmentComesFirst() throws Exception {
    var env = new HashMap<>(profile("not-the-secret"));
    env.putAll(role());
    env.put("AWS_ACCESS_KEY_ID", S3Server.ACCESS_KEY);
    env.put("AWS_SECRET_ACCESS_KEY", S3Server.SECRET_KEY);
    requirePulled(env);
    assertThat(directory.resolve("one")).hasContent("1");
    assertThat(ASKED).hasValue(0);
  }

  @Test
  void thenTheProfile() throws Exception {
    var env = new HashMap<>(profile(S3Server.SECRET_KEY));
    env.putAll(role());
    requirePulled(env);
    assertThat(ASKED).hasValue(0);
  }

  @Test
  void thenTheRole() throws Exception {
    requirePulled(role());
    assertThat(ASKED).hasPositiveValue();
  }

  @Test
  void withoutAnyTheStepSaysWhereItLooked() throws Exception {
    CommandResult result = pull(Map.of());
    assertThat(result.code()).isEqualTo(1);
    assertThat(result.stderr()).contains("credentials");
  }

  private Map<String, String> profile(String secret) throws Exception {
    Path file = directory.resolve("credentials");
    Files.writeString(
        file,
        "[default]\naws_access_key_id=%s\naws_secret_access_key=%s\n"
            .formatted(S3Server.ACCESS_KEY, secret));
    return Map.of("AWS_SHARED_CREDENTIALS_FILE", file.toString());
  }

  private static Map<String, String> role() {
    return Map.of(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "http://127.0.0.1:" + role.getAddress().getPort() + "/role");
  }

  private void requirePulled(Map<String, String> env) throws InterruptedException {
    CommandResult result = pull(env);
    assertThat(result.code()).as(result.stderr()).isZero();
  }

  private CommandResult pull(Map<String, String> env) throws InterruptedException {
    var all = new HashMap<>(env);
    all.put("AWS_EC2_METADATA_DISABLED", "true"); // nobody beyond this machine is asked
    all.put("AWS_CONFIG_FILE", directory.resolve("none").toString());
    all.putIfAbsent("AWS_SHARED_CREDENTIALS_FILE", directory.resolve("none").toString());
    return Processes.run(
        Command.of(
                ProcessHandle.current().info().command().orElse("java"),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                PullAsAgent.class.getName(),
                server.endpoint(),
                directory.toString())
            .withEnv(all),
        Deadline.after(Duration.ofSeconds(60)));
  }
}
