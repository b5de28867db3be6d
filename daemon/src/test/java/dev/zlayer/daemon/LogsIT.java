package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What containers print, through the REST door. */
@Timeout(60)
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
    List<String> lines =
        rest.get("/containers/long/logs?stdout=true" + format).text().lines().toList();
    assertThat(lines).hasSize(50000);
    assertThat(lines.getFirst()).contains("1");
    assertThat(lines.getLast()).contains("50000");
    rest.delete("/containers/long").expect(204);
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
