package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.awaitility.Awaitility;

/** A place for daemons in processes of their own, one after the other, for clients of Docker. */
final class DockerChild implements AutoCloseable {
  static final Duration LIMIT = Duration.ofSeconds(60);

  final Node node;

  DockerChild() throws IOException {
    this.node = new Node().with("network_pool", "0");
  }

  /** Returns when it answers. */
  ChildDaemon start() {
    return ChildDaemon.start(node);
  }

  /** The first one, which has an image. */
  ChildDaemon startWithImage() throws InterruptedException {
    ChildDaemon daemon = start();
    try (Rest rest = node.rest()) {
      Node.loadImage(rest);
    }
    return daemon;
  }

  DockerWire wire() {
    return new DockerWire(node.configured().config().dockerSocketPath().orElseThrow());
  }

  Path builds() {
    return node.configured().config().directories().builds();
  }

  static String body(Map<String, ?> host, String... words) {
    return JsonText.print(
        Json.object()
            .put("Image", Node.IMAGE)
            .put("Cmd", List.of(words))
            .put("HostConfig", host)
            .build());
  }

  /** A number that nobody else sleeps for. */
  static int ownSeconds() {
    return RandomGenerator.getDefault().nextInt(100_000, 1_000_000);
  }

  /** A context whose build takes that long. */
  static byte[] sleepingBuild(int seconds) {
    return TarWriter.archive(
        List.of(
            TarEntry.file(
                "Dockerfile",
                "FROM %s\nRUN echo begun && sleep %d\n".formatted(Node.IMAGE, seconds))));
  }

  /** The processes of this host that sleep that long. */
  static String sleepers(int seconds) throws InterruptedException {
    return Processes.run(
            Command.of("pgrep", "-f", "^sleep " + seconds + "$"),
            Deadline.after(Duration.ofSeconds(10)))
        .stdout();
  }

  /** How many sockets a daemon has open. */
  static long sockets(ChildDaemon daemon) throws IOException {
    try (var open = Files.list(Path.of("/proc", Long.toString(daemon.pid()), "fd"))) {
      return open.filter(DockerChild::socket).count();
    }
  }

  private static boolean socket(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).toString().startsWith("socket:");
    } catch (IOException _) {
      return false; // closed meanwhile
    }
  }

  /** Nothing of containers and builds; the usual network stays with what lets its members out. */
  void assertNothingLeft() {
    Awaitility.await()
        .atMost(LIMIT)
        .untilAsserted(
            () -> assertThat(new NodeLeaks(node).find()).filteredOn(this::lost).isEmpty());
  }

  private boolean lost(String leak) {
    String bridge = node.prefix + "0";
    boolean usual =
        leak.equals("bridge " + bridge)
            || (leak.startsWith("rule of ")
                && (leak.contains('"' + bridge + '"') || leak.contains("{\"prefix\":")));
    return !usual;
  }

  @Override
  public void close() throws Exception {
    node.close();
  }
}
