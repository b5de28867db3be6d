package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.host.http.WebSocket;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Real containers through the REST API. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class ContainersIT {
  private static OpenNode node;
  private static Rest rest;

  @BeforeAll
  static void open() throws Exception {
    node = OpenNode.open();
    rest = node.rest();
  }

  @AfterAll
  static void close() throws Exception {
    if (node != null) {
      node.close();
    }
  }

  private static String run(String name, String script, String... more) throws Exception {
    return node.run(name, script, more);
  }

  @Test
  void aContainerRunsEndsAndIsRemoved() throws Exception {
    String id = run("life", "echo out; echo err >&2; exit 7");

    Json outcome = rest.post("/containers/life/wait").expect(200).json();
    assertThat(outcome.at("code").integer()).contains(7L);
    assertThat(outcome.at("oom").bool()).contains(false);
    assertThat(outcome.at("started").string()).isPresent();

    List<Json> lines = rest.get("/containers/life/logs").expect(200).lines();
    assertThat(lines) // each stream is read for itself
        .extracting(
            line -> line.at("stream").string().orElse(""),
            line -> line.at("text").string().orElse(""))
        .containsExactlyInAnyOrder(tuple("stdout", "out"), tuple("stderr", "err"));
    assertThat(rest.get("/containers/" + id + "/logs?format=raw&stdout=false").text())
        .isEqualTo("err\n");

    Json listed = rest.get("/containers?all=true").json();
    assertThat(listed.items()).anyMatch(one -> one.at("id").string().orElse("").equals(id));
    assertThat(rest.get("/containers").json().items())
        .noneMatch(one -> one.at("id").string().orElse("").equals(id));
    assertThat(rest.get("/containers/" + id.substring(0, 12)).json().at("container").at("state"))
        .isEqualTo(new Json.Str("exited"));

    rest.delete("/containers/life").expect(204);
    assertThat(rest.delete("/containers/life").expect(404).json().at("blame").string())
        .contains("request");
    assertThat(rest.delete("/containers/life?force=true").expect(200).json().at("removed").bool())
        .contains(false);
  }

  @Test
  void verbsCanBeSaidTwice() throws Exception {
    run("twice", "trap 'exit 5' TERM; echo begun; while :; do sleep 0.1; done");
    Awaitility.await().until(() -> begun("twice") == 1); // before, it would not heed the signal
    rest.post("/containers/twice/start").expect(204);
    rest.post("/containers/twice/pause").expect(204);
    rest.post("/containers/twice/pause").expect(204);
    rest.post("/containers/twice/unpause").expect(204);
    rest.post("/containers/twice/unpause").expect(204);
    Json end = rest.post("/containers/twice/stop?grace=10s").expect(200).json();
    assertThat(end.at("code").integer()).contains(5L);
    rest.post("/containers/twice/stop").expect(200);
    rest.post("/containers/twice/rename?name=thrice").expect(204);
    rest.post("/containers/thrice/restart").expect(204);
    rest.post("/containers/thrice/kill?signal=KILL").expect(204);
    Json killed = rest.post("/containers/thrice/wait").json();
    assertThat(killed.at("signal").string()).contains("SIGKILL");
    assertThat(killed.at("code").integer()).contains(137L);
    rest.delete("/containers/thrice").expect(204);
  }

  @Test
  void aRestartIsCompletedAlthoughItsClientLeaves() throws Exception {
    run("again", "trap '' TERM; echo begun; while :; do sleep 0.05; done");
    Awaitility.await().until(() -> begun("again") == 1);
    leaveDuring("again", "restart");
    Awaitility.await().atMost(Duration.ofSeconds(20)).until(() -> begun("again") == 2);
    rest.delete("/containers/again?force=true");
  }

  @Test
  void aStopIsCompletedAlthoughItsClientLeaves() throws Exception {
    run("deaf", "trap '' TERM; echo begun; while :; do sleep 0.05; done");
    Awaitility.await().until(() -> begun("deaf") == 1);
    leaveDuring("deaf", "stop");
    Json end = rest.post("/containers/deaf/wait?timeout=20s").expect(200).json();
    assertThat(end.at("signal").string()).contains("SIGKILL");
    Awaitility.await().until(() -> told("deaf").contains("container.stopped"));
    rest.delete("/containers/deaf?force=true");
  }

  /** Asks for something that ends the container, and leaves while that is under way. */
  private static void leaveDuring(String container, String verb) throws Exception {
    Thread client =
        Thread.ofVirtual()
            .start(
                () ->
                    assertThatThrownBy(
                            () ->
                                rest.post("/containers/%s/%s?grace=4s".formatted(container, verb)))
                        .isInstanceOf(InterruptedException.class));
    Awaitility.await()
        .until(
            () ->
                rest.get("/containers/" + container)
                    .json()
                    .at("container")
                    .at("state")
                    .string()
                    .orElse("")
                    .equals("stopping"));
    client.interrupt();
    assertThat(client.join(Duration.ofSeconds(20))).isTrue();
  }

  private static long begun(String container) throws InterruptedException {
    return rest.get("/containers/" + container + "/logs?format=raw").text().lines().count();
  }

  @Test
  void processesAreRunInside() throws Exception {
    run("inside", "sleep 1000");
    List<Json> lines =
        rest.post(
                "/containers/inside/exec",
                "{\"command\":[\"sh\",\"-c\",\"echo $WHO; echo bad >&2; exit"
                    + " 9\"],\"env\":{\"WHO\":\"grüße\"}}")
            .expect(200)
            .lines();
    assertThat(lines).anyMatch(line -> line.at("text").string().orElse("").equals("grüße\n"));
    assertThat(lines).anyMatch(line -> line.at("stream").string().orElse("").equals("stderr"));
    assertThat(lines.getLast().at("type").string()).contains("exit");
    assertThat(lines.getLast().at("code").integer()).contains(9L);
    assertThat(rest.get("/containers/inside/top").json().at("rows").items()).hasSize(1);
    Json stats = rest.get("/containers/inside/stats").expect(200).json();
    assertThat(stats.at("memory_bytes").integer().orElseThrow()).isPositive();
    Json rated = rest.get("/containers/inside/stats?rate=true").expect(200).json();
    assertThat(rated.at("cpu_percent").isNull()).isFalse();
    assertThat(rest.get("/stats?rate=true").expect(200).json().items())
        .anyMatch(
            one ->
                one.at("name").string().orElse("").equals("inside")
                    && !one.at("cpu_percent").isNull());
    rest.delete("/containers/inside?force=true").expect(204);
  }

  @Test
  void aTerminalIsTalkedToOverAWebSocket() throws Exception {
    run("tty", "sleep 1000");
    try (WebSocket socket = rest.socket("/containers/tty/exec/ws?command=sh&tty=true")) {
      socket.sendText("{\"resize\":{\"columns\":91,\"rows\":27}}");
      // the runtime passes a size on a moment after the shell has begun
      String script =
          "until stty size | grep -q 27; do sleep 0.01; done; echo $(stty size).; exit 4";
      socket.sendBinary(("\0" + script + "\n").getBytes(StandardCharsets.UTF_8));
      Heard heard = Heard.all(socket);
      assertThat(heard.stdout()).contains("27 91.");
      assertThat(heard.last().at("exit").at("code").integer()).contains(4L);
    }
    try (WebSocket socket = rest.socket("/containers/tty/exec/ws?command=cat")) {
      socket.sendBinary("\0through\n".getBytes(StandardCharsets.UTF_8));
      socket.sendText("{\"close_stdin\":true}");
      Heard heard = Heard.all(socket);
      assertThat(heard.stdout()).isEqualTo("through\n");
      assertThat(heard.last().at("exit").at("code").integer()).contains(0L);
    }
    rest.delete("/containers/tty?force=true").expect(204);
  }

  @Test
  void attachingShowsEverythingAndTheEnd() throws Exception {
    rest.post(
            "/containers",
            "{\"name\":\"att\",\"image\":\"%s\",\"pull\":\"never\",\"start\":false,\"stdin_open\":true,\"command\":[\"sh\",\"-c\",\"echo early; read x; echo got $x; exit 6\"]}"
                .formatted(Node.IMAGE))
        .expect(201);
    try (WebSocket socket = rest.socket("/containers/att/attach/ws?logs=true&start=true")) {
      socket.sendBinary("\0word\n".getBytes(StandardCharsets.UTF_8));
      Heard heard = Heard.all(socket);
      assertThat(heard.stdout()).isEqualTo("early\ngot word\n");
      assertThat(heard.last().at("exit").at("code").integer()).contains(6L);
    }
    rest.delete("/containers/att").expect(204);
  }

  /** What a WebSocket said until it closed. */
  private record Heard(String stdout, String stderr, Json last) {
    static Heard all(WebSocket socket) throws InterruptedException {
      var out = new ByteArrayOutputStream();
      var err = new ByteArrayOutputStream();
      Json last = Json.Null.INSTANCE;
      while (true) {
        switch (socket.receive()) {
          case WebSocket.Message.Binary(byte[] bytes) ->
              (bytes[0] == 1 ? out : err).writeBytes(Arrays.copyOfRange(bytes, 1, bytes.length));
          case WebSocket.Message.Text(String text) -> last = JsonText.parse(text);
          case WebSocket.Message.Closed _ -> {
            return new Heard(
                out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8), last);
          }
        }
      }
    }
  }

  @Test
  void filesGoInAndOut() throws Exception {
    run("files", "sleep 1000");
    byte[] tar = TarWriter.archive(List.of(TarEntry.file("hello.txt", "hello")));
    rest.put("/containers/files/archive?path=/tmp", tar).expect(204);
    List<Json> lines =
        rest.post("/containers/files/exec", "{\"command\":[\"cat\",\"/tmp/hello.txt\"]}").lines();
    assertThat(lines.getFirst().at("text").string()).contains("hello");
    byte[] back = rest.bytes("/containers/files/archive?path=/tmp/hello.txt");
    assertThat(new String(back, StandardCharsets.ISO_8859_1))
        .contains("hello.txt")
        .contains("hello");
    assertThat(rest.get("/containers/files/changes").json().items())
        .anyMatch(change -> change.at("path").string().orElse("").equals("/tmp/hello.txt"));
    rest.get("/containers/files/archive?path=/no/such").expect(404);
    rest.delete("/containers/files?force=true").expect(204);
  }

  @Test
  void endedContainersComeBackOrGoAway() throws Exception {
    run("gone", "exit 0", "rm", "true");
    rest.post("/containers/gone/wait?condition=removed&timeout=20s");
    Awaitility.await().until(() -> rest.get("/containers/gone").status() == 404);

    run("back", "exit 3", "restart_policy", "{\"kind\":\"on_failure\",\"max_attempts\":2}");
    Awaitility.await()
        .until(
            () ->
                rest.get("/containers/back")
                        .json()
                        .at("container")
                        .at("restarts")
                        .integer()
                        .orElse(0L)
                    == 2);
    rest.delete("/containers/back?force=true").expect(204);

    run("kept", "sleep 1000", "restart_policy", "{\"kind\":\"unless_stopped\"}");
    rest.post("/containers/kept/kill").expect(204);
    Awaitility.await()
        .until(
            () -> {
              Json seen = rest.get("/containers/kept").json().at("container");
              return seen.at("restarts").integer().orElse(0L) == 1
                  && seen.at("state").string().orElse("").equals("running");
            });
    rest.post("/containers/kept/stop?grace=0s").expect(200);
    assertThat(rest.get("/containers/kept").json().at("container").at("state").string())
        .contains("exited");
    rest.delete("/containers/kept").expect(204);
  }

  /** As when the command that ran it in the foreground was killed: nobody else removes it. */
  @Test
  void anEndedContainerStaysAMomentForItsReaderAndGoes() throws Exception {
    run("lingers", "echo last words", "rm", "true", "rm_after", "\"5s\"");
    rest.post("/containers/lingers/wait").expect(200);
    assertThat(rest.get("/containers/lingers/logs?format=raw").expect(200).text())
        .isEqualTo("last words\n");
    Awaitility.await().until(() -> rest.get("/containers/lingers").status() == 404);
    Awaitility.await()
        .untilAsserted(
            () ->
                assertThat(told("lingers"))
                    .containsExactly(
                        "container.created",
                        "container.started",
                        "container.exited",
                        "container.removed"));
  }

  @Test
  void everyEndIsToldOnceWithItsCode() throws Exception {
    run("ends", "exit 7");
    rest.post("/containers/ends/wait").expect(200);
    rest.post("/containers/ends/start").expect(204);
    rest.post("/containers/ends/wait").expect(200);
    rest.delete("/containers/ends").expect(204);
    assertThat(told("ends"))
        .containsExactly(
            "container.created",
            "container.started",
            "container.exited",
            "container.started",
            "container.exited",
            "container.removed");
    assertThat(events("ends"))
        .filteredOn(event -> event.at("kind").string().orElse("").equals("container.exited"))
        .allMatch(event -> event.at("facts").at("code").integer().orElse(0L) == 7);
  }

  private static List<String> told(String name) throws Exception {
    return events(name).stream().map(event -> event.at("kind").string().orElse("")).toList();
  }

  private static List<Json> events(String name) throws Exception {
    return rest.get("/events?limit=5000").expect(200).json().at("events").items().stream()
        .filter(one -> one.at("subject").string().orElse("").equals(name))
        .toList();
  }

  @Test
  void eventsResumeWhereAReaderWas() throws Exception {
    long before = rest.get("/events?limit=5000").json().at("next").integer().orElseThrow();
    run("told", "sleep 1000");
    rest.delete("/containers/told?force=true").expect(204);
    var request =
        HttpRequest.get("/api/v1/events")
            .with("Accept", "text/event-stream")
            .with("Last-Event-ID", Long.toString(before));
    try (HttpResponse response = rest.open(request);
        var reader =
            new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8))) {
      assertThat(response.headers().first("Content-Type")).contains("text/event-stream");
      List<String> kinds =
          reader
              .lines()
              .filter(line -> line.startsWith("data: "))
              .map(line -> JsonText.parse(line.substring(6)))
              .filter(event -> event.at("subject").string().orElse("").equals("told"))
              .map(event -> event.at("kind").string().orElse(""))
              .limit(4)
              .toList();
      assertThat(kinds)
          .containsExactly(
              "container.created", "container.started", "container.exited", "container.removed");
    }
    Json page = rest.get("/events?since=" + before + "&kind=container.removed").json();
    assertThat(page.at("events").items()).isNotEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          POST   | /containers | {"image":"localhost/busybox:test","command":3}    | 422 | InvalidSpec | command
          POST   | /containers | {"imag":"x"}                                      | 422 | InvalidSpec | did you mean 'image'
          POST   | /containers | not json at all: [                                | 422 | InvalidSpec | not YAML
          POST   | /containers | {"image":"localhost/none:1","pull":"never"}       | 404 | NotFound    | localhost/none:1
          POST   | /containers | {"image":"127.0.0.1:1/none:1"}                    | 502 | Network     | 127.0.0.1:1
          POST   | /containers | {"image":"localhost/busybox:test","name":"a b"}   | 422 | InvalidSpec | a b
          POST   | /containers | {"image":"localhost/busybox:test","pull":"never","command":["/none"]} | 409 | StartFailed | none
          GET    | /containers/nobody | | 404 | NotFound | nobody
          POST   | /containers/nobody/start | | 404 | NotFound | nobody
          POST   | /containers/nobody/wait?condition=never | | 404 | NotFound | nobody
          DELETE | /containers/nobody | | 404 | NotFound | nobody
          GET    | /images/inspect?ref=UPPER | | 422 | InvalidSpec | UPPER
          GET    | /images/inspect?ref=localhost/none:1 | | 404 | NotFound | none
          GET    | /images/inspect | | 400 | BadRequest | ref
          POST   | /images/tag | {"source":"localhost/none:1","target":"localhost/x:1"} | 404 | NotFound | none
          GET    | /executions/zzz | | 422 | InvalidSpec | zzz
          GET    | /executions/01jd0000000000000000000000 | | 404 | NotFound | execution
          POST   | /jobs/none/none/executions | {} | 404 | NotFound | none/none
          POST   | /cron/none/none/enable | | 404 | NotFound | none/none
          DELETE | /secrets/nobody | | 404 | NotFound | nobody
          GET    | /events?since=soon | | 422 | InvalidSpec | soon
          GET    | /nothing | | 404 | NoRoute | nothing
          PATCH  | /containers | | 405 | MethodNotAllowed | GET, POST
          """)
  void badRequestsAreRefusedWithTheReason(
      String method, String path, String body, int status, String kind, String detail)
      throws Exception {
    var request = HttpRequest.of(method, "/api/v1" + path);
    Rest.Reply reply = rest.send(body == null ? request : request.withJson(body));

    reply.expect(status);
    assertThat(reply.headers().first("Content-Type")).contains("application/problem+json");
    Json problem = reply.json();
    assertThat(problem.at("kind").string()).contains(kind);
    assertThat(problem.at("status").integer()).contains((long) status);
    assertThat(problem.at("detail").string().orElseThrow()).contains(detail);
    assertThat(problem.at("request_id").string()).isEqualTo(reply.headers().first("X-Request-Id"));
    assertThat(problem.at("blame").string()).isPresent();
    assertThat(rest.get("/containers?all=true").json().items())
        .noneMatch(one -> one.at("service").string().orElse("").startsWith("run-"));
  }
}
