package dev.zlayer.daemon;

import static dev.zlayer.daemon.DockerChild.body;
import static dev.zlayer.daemon.DockerChild.sleepers;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients of Docker that read slowly, or leave in the middle of what they asked for. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class DockerLeavingIT {
  private static final Map<String, ?> NO_NETWORK = Map.of("NetworkMode", "none");
  private static final String UPGRADE = "Connection: Upgrade\r\nUpgrade: tcp\r\n";
  private static final int LINES = 200_000;

  private DockerChild child;

  @BeforeEach
  void open() throws Exception {
    child = new DockerChild();
  }

  @AfterEach
  void close() throws Exception {
    child.close();
  }

  /** One that reads nothing stops neither the container nor anybody else. */
  @Test
  void slowClientsHoldNobodyUp() throws Exception {
    try (ChildDaemon daemon = child.startWithImage();
        DockerWire wire = child.wire()) {
      wire.create(
          "loud",
          body(
              NO_NETWORK,
              "sh",
              "-c",
              "yes 0123456789012345678901234567890123456789 | head -n %d; echo over >&2"
                  .formatted(LINES)));
      var slow = new ArrayList<DockerWire.Raw>();
      try {
        for (String request :
            List.of(
                "POST /containers/loud/attach?stream=1&stdout=1&stderr=1",
                "GET /containers/loud/logs?stdout=1&stderr=1&follow=1",
                "GET /events",
                "GET /containers/loud/stats")) {
          slow.add(wire.raw().send(request + " HTTP/1.1\r\nHost: x\r\n\r\n"));
        }
        for (int i = 0; i < 50; i++) { // and these never say what they want
          slow.add(wire.raw().send("GET /containers/json HTTP/1.1\r\nHo"));
        }
        wire.send("POST", "/containers/loud/start").expect(204);
        assertThat(wire.send("POST", "/containers/loud/wait").json().at("StatusCode").integer())
            .contains(0L);
        assertThat(
                DockerWire.frames(
                    wire.send("GET", "/containers/loud/logs?stderr=1")
                        .text()
                        .getBytes(StandardCharsets.ISO_8859_1)))
            .isEqualTo("2:over\n");
        // the first of them reads at last, and misses nothing
        slow.getFirst().head();
        assertThat(DockerWire.frames(slow.getFirst().rest()).lines()).hasSize(LINES + 1);
      } finally {
        for (DockerWire.Raw one : slow) {
          one.close();
        }
      }
      wire.send("DELETE", "/containers/loud").expect(204);
      daemon.terminate();
    }
    child.assertNothingLeft();
  }

  @Test
  void nothingIsKeptForThoseWhoLeft() throws Exception {
    try (ChildDaemon daemon = child.startWithImage();
        DockerWire wire = child.wire()) {
      wire.create("quiet", body(NO_NETWORK, "sleep", "300"));
      wire.send("POST", "/containers/quiet/start").expect(204);
      long before = DockerChild.sockets(daemon);
      for (int i = 0; i < 5; i++) {
        leave(wire, "POST /containers/quiet/attach?stream=1&stdout=1", UPGRADE);
        leave(wire, "POST /containers/quiet/attach?stream=1&stdin=1&stdout=1", "");
        leave(wire, "GET /containers/quiet/logs?stdout=1&follow=1", "");
        leave(wire, "GET /events", "");
        leave(wire, "GET /containers/quiet/stats", "");
        try (var raw = wire.raw()) {
          raw.send("POST /containers/quiet/wait HTTP/1.1\r\nHost: x\r\n\r\n");
        }
      }
      Awaitility.await()
          .atMost(DockerChild.LIMIT)
          .until(() -> DockerChild.sockets(daemon) <= before);
      Json state = wire.send("GET", "/containers/quiet/json").expect(200).json().at("State");
      assertThat(state.at("Running").bool()).contains(true);
      wire.send("DELETE", "/containers/quiet?force=1").expect(204);
      daemon.terminate();
    }
    child.assertNothingLeft();
  }

  /** Leaves as soon as the answer begins. */
  private static void leave(DockerWire wire, String request, String headers) throws Exception {
    try (var raw = wire.raw()) {
      raw.send(request + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n");
      assertThat(raw.head()).matches("(?s)HTTP/1.1 (101|200) .*");
    }
  }

  @Test
  @Requires(Fact.BUILDAH)
  void whatWasSentHalfHasNoEffect() throws Exception {
    byte[] image = ImageMaker.busybox().label("half", "yes").make().ociArchive("localhost/half:1");
    byte[] files = TarWriter.archive(List.of(TarEntry.file("file", new byte[300_000])));
    try (ChildDaemon daemon = child.startWithImage();
        Rest rest = child.node.rest();
        DockerWire wire = child.wire()) {
      wire.create("quiet", body(NO_NETWORK, "sleep", "300"));
      wire.send("POST", "/containers/quiet/start").expect(204);
      rest.get("/ping").expect(200);
      long before = DockerChild.sockets(daemon);
      for (Map.Entry<String, byte[]> half :
          Map.of(
                  "POST /containers/create?name=half",
                  body(NO_NETWORK, "true").getBytes(StandardCharsets.UTF_8),
                  "PUT /containers/quiet/archive?path=/tmp",
                  files,
                  "POST /images/load",
                  image,
                  "POST /images/create?fromSrc=-&repo=localhost/half&tag=2",
                  files,
                  "POST /build?t=localhost/half:3",
                  DockerChild.sleepingBuild(1))
              .entrySet()) {
        try (var raw = wire.raw()) {
          byte[] body = half.getValue();
          raw.send(
              "%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                  .formatted(half.getKey(), body.length));
          raw.send(Arrays.copyOf(body, body.length / 2));
        }
      }
      Awaitility.await()
          .atMost(DockerChild.LIMIT)
          .until(() -> DockerChild.sockets(daemon) <= before);
      wire.send("GET", "/containers/half/json").expect(404);
      for (int tag = 1; tag <= 3; tag++) {
        wire.send("GET", "/images/localhost/half:%d/json".formatted(tag)).expect(404);
      }
      assertThat(wire.send("GET", "/images/json").json().items()).hasSize(1);
      assertThat(rest.post("/images/check", "{}").json().at("sound").bool()).contains(true);
      Awaitility.await()
          .atMost(DockerChild.LIMIT)
          .untilAsserted(() -> assertThat(child.builds()).isEmptyDirectory());
      wire.put("/containers/quiet/archive?path=/tmp", files).expect(200);
      wire.postBytes("/images/load", image).expect(200);
      wire.send("GET", "/images/localhost/half:1/json").expect(200);
      wire.send("DELETE", "/containers/quiet?force=1").expect(204);
      daemon.terminate();
    }
    child.assertNothingLeft();
  }

  @ParameterizedTest
  @ValueSource(strings = {"/build?t=localhost/left:1", "/api/v1/images/build?tag=localhost/left:1"})
  @Requires(Fact.BUILDAH)
  void aBuildEndsWithItsClient(String path) throws Exception {
    int seconds = DockerChild.ownSeconds();
    try (ChildDaemon daemon = child.startWithImage();
        DockerWire wire =
            path.startsWith("/api") ? new DockerWire(child.node.socket()) : child.wire()) {
      try (var raw = wire.raw()) {
        raw.post(path, DockerChild.sleepingBuild(seconds));
        assertThat(raw.head()).startsWith("HTTP/1.1 200");
        Awaitility.await().atMost(DockerChild.LIMIT).until(() -> !sleepers(seconds).isEmpty());
      }
      Awaitility.await().atMost(DockerChild.LIMIT).until(() -> sleepers(seconds).isEmpty());
      child.assertNothingLeft();
      daemon.terminate();
    }
  }

  /** The registry here answers nothing; the connection to it is closed when the client leaves. */
  @Test
  void aPullEndsWithItsClient() throws Exception {
    try (ChildDaemon daemon = child.start();
        DockerWire wire = child.wire();
        var registry = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
      registry.setSoTimeout(20_000);
      try (var raw = wire.raw()) {
        raw.send(
            "POST /images/create?fromImage=127.0.0.1:%d/x&tag=1 HTTP/1.1\r\nHost: x\r\n\r\n"
                .formatted(registry.getLocalPort()));
        try (Socket connection = registry.accept()) {
          connection.setSoTimeout(20_000);
          InputStream in = connection.getInputStream();
          assertThat(in.read()).isNotNegative();
          raw.close();
          while (in.read() >= 0) {} // until the agent ends it
        }
      }
      daemon.terminate();
    }
    child.assertNothingLeft();
  }
}
