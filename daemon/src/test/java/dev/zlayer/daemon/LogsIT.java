package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.host.http.WebSocket;
import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What containers print, through the REST API. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class LogsIT {
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

  /** Lines of the other stream, which are there and not wanted, hold up none that is. */
  @ParameterizedTest
  @ValueSource(strings = {"", "&format=raw"})
  void aFollowerGetsALineWhileTheContainerGoesOn(String format) throws Exception {
    node.run("early", "echo wanted; for i in 1 2 3; do echo other >&2; done; exec sleep 1000");
    try (HttpResponse response =
            rest.open("/containers/early/logs?follow=true&stderr=false" + format);
        var reader =
            new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8))) {
      assertThat(reader.readLine()).contains("wanted");
      assertThat(rest.get("/containers/early").json().at("container").at("state").string())
          .contains("running");
    } finally {
      rest.delete("/containers/early?force=true").expect(204);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "&format=raw"})
  void allOfALongLogIsRead(String format) throws Exception {
    node.run("long", "seq 50000");
    rest.post("/containers/long/wait").expect(200);
    Rest.Reply reply = rest.get("/containers/long/logs?stdout=true" + format);
    String output = format.isEmpty() ? output(reply.lines(), "stdout") : reply.text();
    String expected =
        IntStream.rangeClosed(1, 50000).mapToObj(i -> i + "\n").collect(Collectors.joining());
    assertThat(output).isEqualTo(expected);
    rest.delete("/containers/long").expect(204);
  }

  @Test
  void whatIsOlderThanTheFileSaysIsNoLongerShown() throws Exception {
    String service =
        """
            image: {name: %s, pull_policy: never}
            command: [sh, -c, "echo early; until [ -e /go ]; do sleep 0.05; done; while :; do echo late; sleep 1; done"]
            stop_grace_period: 1s
        """
            .formatted(Node.IMAGE);
    String file =
        "version: v1\ndeployment: brief\nservices:\n  long:\n"
            + service
            + "  short:\n"
            + service
            + "    logs: {retention_secs: 3}\n";
    rest.put("/deployments/brief?directory=/&wait=30s", file.getBytes(StandardCharsets.UTF_8))
        .expect(200);
    String kept = "/containers/brief:long";
    String expiring = "/containers/brief:short";
    Awaitility.await()
        .untilAsserted(() -> assertThat(rest.get(expiring + "/logs").text()).isEmpty());
    Awaitility.await()
        .untilAsserted(() -> assertThat(rest.get(kept + "/logs").text()).contains("early"));

    rest.post(expiring + "/exec", "{\"command\":[\"touch\",\"/go\"]}").expect(200);
    Awaitility.await()
        .untilAsserted(
            () ->
                assertThat(rest.get(expiring + "/logs?since=2020-01-01T00:00:00Z").text())
                    .contains("late")
                    .doesNotContain("early"));
    rest.delete("/deployments/brief?wait=30s").expect(200);
  }

  /** Where rotation has dropped output, whoever reads is told, in every format that can. */
  @Test
  void whatRotationDroppedIsNeverSilent() throws Exception {
    String file =
        """
        version: v1
        deployment: much
        services:
          printer:
            image: {name: %s, pull_policy: never}
            command: [sh, -c, "seq 100000; exec sleep 1000"]
            stop_grace_period: 1s
            logs: {max_size_bytes: 192Ki}
        """
            .formatted(Node.IMAGE);
    rest.put("/deployments/much?directory=/", file.getBytes(StandardCharsets.UTF_8)).expect(202);
    Awaitility.await()
        .untilAsserted(
            () -> assertThat(rest.get("/containers?deployment=much").json().items()).hasSize(1));
    Json printer = rest.get("/containers?deployment=much").json().items().getFirst();
    String logs = "/containers/%s/logs".formatted(printer.at("id").string().orElseThrow());
    Awaitility.await()
        .untilAsserted(() -> assertThat(rest.get(logs + "?tail=1").text()).contains("\"100000\""));
    Awaitility.await() // it is the agent who drops what is too much
        .untilAsserted(
            () -> {
              Json first = rest.get(logs).lines().getFirst();
              assertThat(first.at("text").string().orElseThrow()).isNotEqualTo("1");
              assertThat(first.at("gap").bool()).contains(true);
            });
    assertThat(rest.get(logs + "?tail=2").lines())
        .hasSize(2)
        .noneMatch(line -> line.at("gap").bool().orElse(false));
    byte[] frames = rest.bytes(logs + "?format=frames");
    assertThat(frames[12] & 8).isEqualTo(8);
    assertThat(rest.get(logs + "?format=raw").headers().first("Zlayer-Gap")).contains("true");
    assertThat(rest.get(logs + "?format=raw&tail=2").headers().first("Zlayer-Gap")).isEmpty();
    try (WebSocket socket = rest.socket(logs.replace("/logs", "/attach/ws?logs=true"))) {
      assertThat(socket.receive().toString()).contains("gap");
    }
    rest.delete("/deployments/much").expect(202);
    Awaitility.await().until(() -> rest.get("/deployments/much").status() == 404);
  }

  /** Text, and base64 where it is none; a line end only where there was one. */
  private static String output(List<Json> lines, String stream) {
    var bytes = new ByteArrayOutputStream();
    for (Json line : lines) {
      if (line.at("stream").string().equals(Optional.of(stream))) {
        bytes.writeBytes(
            line.at("bytes")
                .string()
                .map(Base64.getDecoder()::decode)
                .orElseGet(
                    () -> line.at("text").string().orElseThrow().getBytes(StandardCharsets.UTF_8)));
        if (!line.at("partial").bool().orElse(false)) {
          bytes.write('\n');
        }
      }
    }
    return bytes.toString(StandardCharsets.ISO_8859_1);
  }

  @Test
  void unfinishedLinesAndBytesThatAreNoTextArriveAsTheyWereWritten() throws Exception {
    node.run("bytes", "printf 'a\\377\\000b\\r'; printf '{\"e\": 1}' >&2; printf 'c\\n\\nJSON'");
    rest.post("/containers/bytes/wait").expect(200);
    List<Json> lines = rest.get("/containers/bytes/logs").lines();
    assertThat(output(lines, "stdout")).isEqualTo("a\u00ff\0b\rc\n\nJSON");
    assertThat(output(lines, "stderr")).isEqualTo("{\"e\": 1}");
    assertThat(rest.bytes("/containers/bytes/logs?format=raw&stderr=false"))
        .isEqualTo("a\u00ff\0b\rc\n\nJSON".getBytes(StandardCharsets.ISO_8859_1));
    rest.delete("/containers/bytes").expect(204);
  }

  @Test
  void logsAreFollowedToTheEnd() throws Exception {
    node.run("follow", "for i in 1 2 3; do echo line $i; sleep 0.2; done");
    List<Json> lines = rest.get("/containers/follow/logs?follow=true").lines();
    assertThat(lines.stream().map(line -> line.at("text").string().orElse("")).toList())
        .containsExactly("line 1", "line 2", "line 3");
    assertThat(rest.get("/containers/follow/logs?tail=1").lines()).hasSize(1);
    rest.delete("/containers/follow?force=true").expect(204);
  }

  @Test
  void aReaderWhoLeavesEndsItsStream() throws Exception {
    node.run("silent", "sleep 1000");
    Awaitility.await().until(() -> inFlight() == 1); // streams of other tests have ended
    HttpResponse response = rest.open("/containers/silent/logs?follow=true");
    assertThat(response.status()).isEqualTo(200);
    assertThat(inFlight()).isEqualTo(2); // that one and the question itself
    response.close();
    Awaitility.await().until(() -> inFlight() == 1);
    rest.delete("/containers/silent?force=true").expect(204);
  }

  private static int inFlight() throws Exception {
    return rest.get("/metrics")
        .text()
        .lines()
        .filter(line -> line.startsWith("zlayer_http_requests_in_flight "))
        .map(line -> Integer.parseInt(line.substring(line.indexOf(' ') + 1)))
        .findFirst()
        .orElseThrow();
  }
}
