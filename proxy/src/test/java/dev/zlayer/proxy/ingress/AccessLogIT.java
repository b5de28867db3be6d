package dev.zlayer.proxy.ingress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import com.sun.net.httpserver.HttpServer;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.port.Rotation;
import dev.zlayer.port.Rotation.Member;
import dev.zlayer.port.Rotation.Members;
import dev.zlayer.spec.network.NetworkingSpec.Reachability;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.FreePorts;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How requests get from HAProxy to the files of the access log. */
@Requires({Fact.ROOT, Fact.HAPROXY})
class AccessLogIT {
  private static final ServiceKey WEB = new ServiceKey("shop", "web");
  private static final int FILE_BYTES = 1000;
  private static final int REQUESTS = 100;
  private static final int NEIGHBOURS = 10;

  @TempDir private Path directory;
  private HttpServer server;
  private int port;
  private IngressConfig config;
  private Ingress ingress;

  @BeforeEach
  void open() throws Exception {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          exchange.sendResponseHeaders(204, -1);
          exchange.close();
        });
    server.start();
    port = FreePorts.take();
    config =
        IngressConfig.of(directory.resolve("i"), "127.0.0.1:" + port, "127.0.0.1:0", false)
            .withState(directory.resolve("state"));
    ingress = Ingress.open(config, Rotation.NONE, TimeSource.monotonic(), new Supervisor());
  }

  @AfterEach
  void close() throws Exception {
    ingress.close();
    new Haproxy(config, Pauses.REAL).stop();
    server.stop(0);
  }

  @Test
  void linesContinueOverFilesAndTheOldestFilesAreRemoved() throws Exception {
    // the first who moves lines keeps the lock, so that of the ingress ends
    Files.createDirectories(config.directory());
    Path pipe = AccessLog.pipe(config);
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    try (var _ = new RandomAccessFile(pipe.toFile(), "rw")) {
      new AccessLog(config, FILE_BYTES).start();
      await(() -> Files.exists(config.state().resolve("access/1")));
      ingress.update(members("a.test"));
    }
    for (int i = 1; i <= REQUESTS; i++) {
      get("/" + i);
    }

    Path files = config.state().resolve("access");
    // two threads of HAProxy log, so neighbours may have changed places
    await(() -> numbers().containsAll(to(REQUESTS - NEIGHBOURS)));
    List<AccessLogReader.Line> lines = lines();
    assertThat(AccessLogReader.files(files)).hasSizeLessThanOrEqualTo(9);
    for (Path file : AccessLogReader.files(files)) {
      assertThat(Files.size(file)).isLessThanOrEqualTo(FILE_BYTES);
    }
    assertThat(lines).hasSizeBetween(10, REQUESTS - 20);
    assertThat(numbers())
        .doesNotHaveDuplicates()
        .containsAll(to(numbers().getFirst() + NEIGHBOURS));
    assertThat(ingress.latency(WEB, Instant.now().minusSeconds(60)).requests())
        .isEqualTo(lines.size());
    assertThat(ingress.accessLog(new ServiceKey("shop", "we"), Optional.empty()).next()).isEmpty();
  }

  /** Those of the requests that are still in the log, sorted. */
  private List<Integer> numbers() {
    return lines().stream().map(line -> Integer.parseInt(uri(line).substring(1))).sorted().toList();
  }

  private static List<Integer> to(int first) {
    return IntStream.rangeClosed(first, REQUESTS).boxed().toList();
  }

  @Test
  void aReloadLosesNeitherLinesNorCounts() throws Exception {
    ingress.update(members("a.test"));
    get("/first");
    ingress.update(members("*.test"));
    get("/second");

    await(() -> lines().size() == 2);
    assertThat(lines()).extracting(AccessLogIT::uri).containsExactlyInAnyOrder("/first", "/second");
    assertThat(ingress.routes().getFirst().traffic().statuses()).containsEntry("2xx", 2L);
  }

  /** The request line is written as it came; a cut one has no version at its end. */
  @Test
  void partsOfTheRequestLineAreFoundHoweverItIsWritten() throws Exception {
    ingress.update(members("a.test"));
    get("http://a.test/absolute?x=1");
    String long700 = "/" + "x".repeat(700);
    get(long700);
    get("/" + "y".repeat(5000) + "%22");
    new ProcessBuilder(
            "curl",
            "-s",
            "--http2-prior-knowledge",
            "-H",
            "Host: a.test",
            "-m",
            "20",
            "http://127.0.0.1:%d/two?y=%%22#z".formatted(port))
        .start()
        .waitFor();

    await(() -> lines().size() == 4);
    // a line is written after its answer, so those of two connections may change places
    assertThat(lines())
        .extracting(AccessLogIT::uri, line -> line.json().at("protocol").string().orElseThrow())
        .containsExactlyInAnyOrder(
            tuple("/absolute?x=1", "HTTP/1.1"),
            tuple(long700, "HTTP/1.1"),
            tuple("/" + "y".repeat(800 - "GET /".length()), "HTTP"),
            tuple("/two?y=%22", "HTTP/2.0"));
    assertThat(lines())
        .allSatisfy(line -> assertThat(line.json().at("method").string()).contains("GET"))
        .allSatisfy(line -> assertThat(line.json().at("status").integer()).contains(204L));
  }

  /** First the process that writes, then also those that would start it again. */
  @Test
  void whoeverMovesLinesIsStartedAgain() throws Exception {
    ingress.update(members("a.test"));
    get("/first");
    await(() -> lines().size() == 1);

    kill("/usr/bin/perl");
    await(() -> logged("/second"));
    kill("/bin/sh", "/usr/bin/perl");
    await(() -> logged("/third"));
    kill("flock", "/bin/sh", "/usr/bin/perl");
    await(() -> logged("/fourth"));
  }

  /** Lines that were under way are lost with the process that had read them. */
  private boolean logged(String path) throws IOException {
    get(path);
    return lines().stream().anyMatch(line -> uri(line).equals(path));
  }

  private void kill(String... programs) {
    String pipe = AccessLog.pipe(config).toString();
    List<ProcessHandle> movers =
        ProcessHandle.allProcesses()
            .filter(process -> process.info().commandLine().orElse("").contains(pipe + " "))
            .flatMap(
                process ->
                    java.util.stream.Stream.concat(
                        java.util.stream.Stream.of(process), process.children()))
            .distinct()
            .toList();
    assertThat(movers).isNotEmpty();
    movers.stream()
        .filter(
            process ->
                List.of(programs).stream()
                    .anyMatch(process.info().commandLine().orElse("")::startsWith))
        .forEach(ProcessHandle::destroyForcibly);
  }

  private List<AccessLogReader.Line> lines() {
    var lines = new ArrayList<AccessLogReader.Line>();
    try (AccessLogReader reader = ingress.accessLog(WEB, Optional.empty())) {
      for (var line = reader.next(); line.isPresent(); line = reader.next()) {
        lines.add(line.get());
      }
    }
    return lines;
  }

  private static String uri(AccessLogReader.Line line) {
    return line.json().at("uri").string().orElseThrow();
  }

  private Members members(String host) {
    return new Members(
        WEB,
        List.of(Routes.endpoint("web", server.getAddress().getPort(), Routes.host(host))),
        Reachability.NEVER,
        List.of(
            new Member(ContainerId.of("shop", "web", 1), InetAddress.getLoopbackAddress(), true)));
  }

  private void get(String path) throws IOException {
    try (var socket = new Socket()) {
      socket.setSoTimeout(20_000);
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 5_000);
      socket
          .getOutputStream()
          .write(
              "GET %s HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"
                  .formatted(path)
                  .getBytes(StandardCharsets.US_ASCII));
      assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII))
          .startsWith("HTTP/1.1 204");
    }
  }

  private static void await(Callable<Boolean> holds) {
    Awaitility.await()
        .pollInterval(Duration.ofMillis(20))
        .atMost(Duration.ofSeconds(30))
        .until(holds);
  }
}
