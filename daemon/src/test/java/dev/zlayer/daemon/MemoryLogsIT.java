package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpResponse;
import dev.zlayer.host.linux.Mounts;
import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What {@code logs.destination: memory} promises: the disk never has the output. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class MemoryLogsIT {
  /** Computed by the script, so that no file with the script has it. */
  private static final String MARK = "mark-56088-end";

  private static final String PRINT = "printf 'mark-%d-end\\000\\377' $((123 * 456))";

  private Node node;

  @BeforeEach
  void open() throws Exception {
    node = new Node().with("network_pool", "0");
  }

  @AfterEach
  void close() throws Exception {
    node.close();
  }

  private static void up(Rest rest, String script, String more) throws InterruptedException {
    String file =
        """
        version: v1
        deployment: quiet
        services:
          web:
            image: {name: %s, pull_policy: never}
            command: [sh, -c, %s]
            stop_grace_period: 1s
            logs: {destination: memory, max_size_bytes: 192Ki}
            %s
        """
            .formatted(Node.IMAGE, dev.zlayer.json.JsonText.print(Json.of(script)), more);
    rest.put("/deployments/quiet?directory=/", file.getBytes(StandardCharsets.UTF_8)).expect(202);
  }

  private static String logs(Rest rest) throws InterruptedException {
    Awaitility.await()
        .until(() -> rest.get("/containers?deployment=quiet").json().items().size() == 1);
    return "/containers/%s/logs"
        .formatted(
            rest.get("/containers?deployment=quiet")
                .json()
                .items()
                .getFirst()
                .at("id")
                .string()
                .orElseThrow());
  }

  @Test
  void outputIsByteExactInMemoryAndSurvivesAKillOfTheDaemon() throws Exception {
    byte[] printed = (MARK + "\0\u00ff").getBytes(StandardCharsets.ISO_8859_1);
    String logs;
    try (ChildDaemon daemon = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      up(rest, PRINT + "; exec sleep 1000", "");
      logs = logs(rest);
      Awaitility.await()
          .untilAsserted(
              () -> assertThat(rest.bytes(logs + "?format=raw&stderr=false")).isEqualTo(printed));
      daemon.kill();
    }
    assertThat(filesOnDiskWith(MARK)).isEmpty();
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      assertThat(rest.bytes(logs + "?format=raw&stderr=false")).isEqualTo(printed);
      rest.delete("/deployments/quiet").expect(202);
      Awaitility.await().until(() -> rest.get("/deployments/quiet").status() == 404);
      assertThat(Mounts.list())
          .noneMatch(mount -> mount.target().startsWith(node.directory.resolve("run/containers")));
    }
  }

  @Test
  void memoryIsBoundedAndWhatWasDroppedIsMarked() throws Exception {
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      up(rest, "seq 100000; exec sleep 1000", "");
      String logs = logs(rest);
      Awaitility.await()
          .untilAsserted(
              () -> assertThat(rest.get(logs + "?tail=1").text()).contains("\"100000\""));
      assertThat(gapsBetweenNumbers(rest.get(logs).lines())).isPositive();
      Path place =
          Mounts.list().stream()
              .map(Mounts.MountPoint::target)
              .filter(target -> target.startsWith(node.directory) && target.endsWith("log"))
              .findFirst()
              .orElseThrow();
      assertThat(Files.getFileStore(place).getTotalSpace()).isLessThanOrEqualTo(4 * 4 * (64 << 10));
      long used;
      try (Stream<Path> files = Files.list(place)) {
        used = files.filter(file -> !file.endsWith("output")).mapToLong(MemoryLogsIT::size).sum();
      }
      assertThat(used).isLessThanOrEqualTo(5 * (64 << 10));
    }
  }

  /**
   * Reads 1 to 100,000. Where lines were dropped depends on which was faster, the container or the
   * agent, but every number follows the one before it unless a gap is marked.
   */
  private static int gapsBetweenNumbers(List<Json> entries) {
    int gaps = 0;
    boolean cut = false;
    long before = 0;
    var line = new StringBuilder();
    for (Json entry : entries) {
      if (entry.at("gap").bool().orElse(false)) {
        gaps++;
        cut = true;
        line.setLength(0);
      }
      line.append(entry.at("text").string().orElseThrow());
      if (entry.at("partial").bool().orElse(false)) {
        continue;
      }
      if (cut) {
        before = -1; // what is left of this line says nothing
      } else {
        long number = Long.parseLong(line.toString());
        assertThat(before < 0 || number == before + 1).as("%s after %s", number, before).isTrue();
        before = number;
      }
      cut = false;
      line.setLength(0);
    }
    assertThat(before).isEqualTo(100_000);
    return gaps;
  }

  /** Who reads too slowly is never given what comes after a gap as if it were the next. */
  @ParameterizedTest
  @ValueSource(strings = {"", "&format=raw"})
  void aSlowFollowerIsToldWhatItMissed(String format) throws Exception {
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      up(rest, "until [ -e /go ]; do sleep 0.05; done; seq 1000000; exec sleep 1000", "");
      String logs = logs(rest);
      try (HttpResponse response = rest.open(logs + "?follow=true" + format);
          var reader =
              new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8))) {
        rest.post(logs.replace("/logs", "/exec"), "{\"command\":[\"touch\",\"/go\"]}").expect(200);
        Awaitility.await()
            .atMost(Duration.ofSeconds(60))
            .untilAsserted(
                () -> assertThat(rest.get(logs + "?tail=1").text()).contains("\"1000000\""));
        if (format.isEmpty()) {
          String line = reader.readLine();
          while (!line.contains("\"gap\":true")) {
            line = reader.readLine();
          }
        } else {
          int next = 1;
          try {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
              if (Integer.parseInt(line) != next++) {
                throw new AssertionError("after " + (next - 2) + " came " + line);
              }
            }
            throw new AssertionError("the answer ended as if it were whole");
          } catch (IOException | AgentException _) {
            assertThat(next).isGreaterThan(1);
          }
        }
      }
    }
  }

  /** What is kept of replicas that failed would be on disk, so nothing is. */
  @Test
  void ofAReplicaThatFailedNoOutputIsKeptOnDisk() throws Exception {
    try (ChildDaemon daemon = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      up(rest, PRINT + "; exit 3", "");
      Awaitility.await()
          .untilAsserted(() -> assertThat(rest.get("/events").text()).contains("exit code 3"));
      daemon.kill();
    }
    assertThat(filesOnDiskWith(MARK)).isEmpty();
  }

  private static long size(Path file) {
    return file.toFile().length();
  }

  /** Without what is mounted: memory, namespaces, and roots whose files lie elsewhere. */
  private List<Path> filesOnDiskWith(String text) throws Exception {
    List<Path> mounts =
        Mounts.list().stream()
            .map(Mounts.MountPoint::target)
            .filter(target -> target.startsWith(node.directory))
            .toList();
    var found = new ArrayList<Path>();
    Files.walkFileTree(
        node.directory,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
            return mounts.contains(directory)
                ? FileVisitResult.SKIP_SUBTREE
                : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            try {
              if (attributes.isRegularFile()
                  && !mounts.contains(file)
                  && new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1)
                      .contains(text)) {
                found.add(file);
              }
              return FileVisitResult.CONTINUE;
            } catch (NoSuchFileException e) {
              return visitFileFailed(file, e);
            }
          }

          @Override
          public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
            if (e instanceof NoSuchFileException) {
              return FileVisitResult.CONTINUE; // of a container that was just about to end
            }
            throw e;
          }
        });
    return found;
  }
}
