package dev.zlayer.cli.command.run;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.http.HttpClient;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A container that one request makes, starts, shows and removes. */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class StreamedRunIT {
  private static final Duration PATIENCE = Duration.ofMinutes(2);
  private static final int PROBLEM = 4;
  private static final int WORD = 128;

  @TempDir static Path directory;
  private static DaemonFixture daemon;
  private static CliFixture cli;

  @BeforeAll
  static void startADaemon() {
    daemon = DaemonFixture.start(directory).withBusybox("bb:1");
    cli = daemon.cli();
  }

  @AfterAll
  static void removeEverything() {
    if (daemon != null) {
      daemon.close();
    }
  }

  private record Frame(int flags, String text) {
    Json json() {
      return JsonText.parse(text);
    }

    String type() {
      return json().at("type").string().orElse("");
    }
  }

  @Test
  void oneRequestIsEnoughForAWholeLife() throws Exception {
    List<Frame> frames =
        run(body("once", "echo out; echo err >&2; exit 7").put("rm", true).build());

    assertThat(frames.getFirst().type()).isEqualTo("created");
    assertThat(frames.getFirst().json().at("name").string()).contains("once");
    assertThat(frames.get(1).type()).isEqualTo("started");
    assertThat(frames)
        .filteredOn(frame -> (frame.flags() & WORD) == 0)
        .containsExactlyInAnyOrder(new Frame(0, "out"), new Frame(1, "err"));
    assertThat(frames.getLast().type()).isEqualTo("exit");
    assertThat(frames.getLast().json().at("code").integer()).contains(7L);
    assertThat(frames.getLast().json().at("not_removed").isNull()).isTrue();
    assertThat(cli.run("inspect", "once").err()).contains("once");
    assertThat(request("GET", "/audit", null)).contains("/run");
  }

  @Test
  void whatCannotStartIsSaidAndRemoved() throws Exception {
    var body =
        Json.object()
            .put("name", "missing")
            .put("image", "bb:1")
            .put("pull", "never")
            .put("command", Json.object().put("entrypoint", List.of("/no/such/program")).build())
            .build();

    List<Frame> frames = run(body);

    assertThat(frames.getLast().flags()).isEqualTo(PROBLEM);
    assertThat(frames.getLast().json().at("kind").string()).contains("StartFailed");
    assertThat(frames.getLast().json().at("exit_code").integer()).contains(127L);
    assertThat(cli.run("inspect", "missing").code()).isEqualTo(2);
  }

  @Test
  void withoutRmItStaysWithItsEnd() throws Exception {
    Frame last = run(body("kept", "exit 3").build()).getLast();

    assertThat(last.json().at("code").integer()).contains(3L);
    assertThat(daemon.ok("inspect", "kept")).contains("\"code\": 3");
    assertThat(daemon.ok("rm", "kept")).isEqualTo("kept\n");
  }

  @Test
  void aBodyThatContradictsTheRequestIsRefused() throws Exception {
    String answer = request("POST", "/run", body("never", "true").put("start", false).build());

    assertThat(answer).contains("start: run starts the container");
    assertThat(cli.run("inspect", "never").code()).isEqualTo(2);
  }

  @Test
  void aMissingImageIsPulledUnlessThatIsForbidden() {
    CliFixture.Result pulled = cli.run("run", "--rm", "127.0.0.1:1/nothing:1", "true");
    CliFixture.Result never =
        cli.run("run", "--rm", "--pull", "never", "127.0.0.1:1/nothing:1", "true");

    assertThat(pulled.code()).isNotZero();
    assertThat(pulled.err()).contains("127.0.0.1:1").doesNotContain("policy is never");
    assertThat(never.code()).isEqualTo(2);
    assertThat(never.err()).contains("the pull policy is never");
  }

  @Test
  void aTakenNameIsReportedAndLeavesTheOtherAlone() {
    daemon.ok("run", "-d", "--name", "first", "bb:1", "sleep", "1000");

    CliFixture.Result second = cli.run("run", "--rm", "--name", "first", "bb:1", "true");

    assertThat(second.code()).isEqualTo(2);
    assertThat(second.err()).contains("the name 'first' is taken");
    assertThat(daemon.ok("ps")).contains("first");
    daemon.ok("rm", "-f", "first");
  }

  private static Json.Builder body(String name, String script) {
    return Json.object()
        .put("name", name)
        .put("image", "bb:1")
        .put("pull", "never")
        .put("command", Json.object().put("entrypoint", List.of("sh", "-c", script)).build());
  }

  private static List<Frame> run(Json body) throws Exception {
    var frames = new ArrayList<Frame>();
    try (var http = http();
        HttpResponse answer =
            http.send(
                HttpRequest.of("POST", "/api/v1/run").withJson(JsonText.print(body)),
                Deadline.after(PATIENCE))) {
      assertThat(answer.status()).isEqualTo(200);
      read(new DataInputStream(answer.body()), frames);
    }
    return frames;
  }

  private static void read(DataInputStream in, List<Frame> frames) throws IOException {
    byte[] all = in.readAllBytes();
    var rest = new DataInputStream(new java.io.ByteArrayInputStream(all));
    while (rest.available() > 0) {
      rest.skipNBytes(Long.BYTES + Integer.BYTES);
      int flags = rest.readUnsignedByte();
      byte[] content = rest.readNBytes(rest.readInt());
      frames.add(new Frame(flags, new String(content, StandardCharsets.UTF_8)));
    }
  }

  private static String request(
      String method, String path, @org.jspecify.annotations.Nullable Json body) throws Exception {
    try (var http = http()) {
      HttpRequest request = HttpRequest.of(method, "/api/v1" + path);
      return http.send(
              body == null ? request : request.withJson(JsonText.print(body)),
              Deadline.after(PATIENCE))
          .text(1 << 20);
    }
  }

  private static HttpClient http() {
    Path socket = Path.of(daemon.env().getOrDefault("ZLAYER_SOCKET", ""));
    return HttpClient.open(
        new HttpAddress.Unix(
            socket.toString().isEmpty()
                ? daemon.dataDirectory().resolve("run/zlayer.sock")
                : socket));
  }
}
