package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Files that jobs leave: whole once the result is shown, and a word about those they did not. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class JobArtifactsIT {
  private static final int BYTES = 3 << 20;

  @Test
  void aPathThatIsNotThereIsANoteAndTheOthersAreWhole() throws Exception {
    String file =
        """
        files:
          {IMAGE, job: {artifacts: [/none, /out]},
           command: [sh, -c, 'mkdir /out; head -c %d /dev/zero > /out/big; echo end > /out/last']}
        """
            .formatted(BYTES);
    try (JobNode jobs = JobNode.open(new Node(), file)) {
      String id = jobs.begin("files");
      Json end = jobs.end(id);

      assertThat(end.at("status").string()).as(end.toString()).contains("completed");
      Json attempt = end.at("attempts").items().getFirst();
      assertThat(attempt.at("notes").strings())
          .singleElement()
          .satisfies(note -> assertThat(note).startsWith("/none: ").contains("/none"));
      List<Json> kept = jobs.rest().get("/executions/" + id + "/artifacts").json().items();
      assertThat(kept.stream().map(one -> one.at("path").string().orElse("")))
          .containsExactly("/out");
      byte[] tar = jobs.rest().bytes("/executions/" + id + "/artifacts/out");
      assertThat(kept.getFirst().at("bytes").integer()).contains((long) tar.length);
      assertThat(tar).hasSizeGreaterThan(BYTES);
      assertThat(new String(tar, StandardCharsets.ISO_8859_1)).contains("end\n");
      jobs.rest().get("/executions/" + id + "/artifacts/none").expect(404);

      Path place = jobs.node.directory.resolve("artifacts").resolve(id);
      assertThat(place.toFile().list()).as("nothing half").hasSize(1);
    }
  }

  @Test
  void neitherDepthNorHolesNorSizeKeepAJobFromEnding() throws Exception {
    String file =
        """
        deep:
          {IMAGE, job: {artifacts: [/deep, /holes, /big], max_artifact_size: 2Mi},
           command: [sh, -c, 'head -c %d /dev/zero > /big;
             dd of=/holes bs=1 count=0 seek=200G 2>/dev/null;
             mkdir -p /deep/%s']}
        """
            .formatted(BYTES, "d/".repeat(700));
    try (JobNode jobs = JobNode.open(new Node(), file)) {
      String id = jobs.begin("deep");
      Json end = jobs.end(id);

      assertThat(end.at("status").string()).as(end.toString()).contains("completed");
      assertThat(end.at("attempts").items().getFirst().at("notes").strings())
          .singleElement()
          .satisfies(
              note -> assertThat(note).startsWith("/big: ").contains("max_artifact_size", "2Mi"));
      List<Json> kept = jobs.rest().get("/executions/" + id + "/artifacts").json().items();
      assertThat(kept.stream().map(one -> one.at("path").string().orElse("")))
          .containsExactly("/deep", "/holes");
    }
  }

  @Test
  void aCopyUnderWayEndsWithItsExecution() throws Exception {
    String file =
        """
        huge:
          {IMAGE, job: {artifacts: [/huge], max_artifact_size: 20Gi},
           command: [sh, -c, 'head -c 300000000 /dev/zero > /huge']}
        """;
    try (JobNode jobs = JobNode.open(new Node(), file)) {
      String id = copying(jobs);
      Path place = place(jobs, id);
      jobs.rest().post("/executions/" + id + "/cancel", "{}").expect(200);

      Json end = jobs.end(id);
      assertThat(end.at("status").string()).as(end.toString()).contains("cancelled");
      Json attempt = end.at("attempts").items().getFirst();
      assertThat(attempt.at("notes").strings())
          .singleElement()
          .satisfies(
              note -> assertThat(note).startsWith("artifacts: not kept").contains("stopped"));
      assertThat(jobs.rest().get("/executions/" + id + "/artifacts").json().items()).isEmpty();
      JobNode.soon()
          .untilAsserted(
              () -> {
                assertThat(archives(place)).as("nothing half").isEmpty();
                assertThat(jobs.rest().get("/containers?all=true").expect(200).json().items())
                    .isEmpty();
              });
      jobs.restart();
      assertThat(jobs.status(id)).isEqualTo("cancelled");
      assertThat(archives(place)).isEmpty();
    }
  }

  private static Path place(JobNode jobs, String id) {
    return jobs.node.directory.resolve("artifacts").resolve(id);
  }

  /** One whose file is being copied; that may be over before anybody has looked, then the next. */
  private static String copying(JobNode jobs) throws Exception {
    for (int attempt = 0; attempt < 5; attempt++) {
      String id = jobs.begin("huge");
      Path place = place(jobs, id);
      JobNode.soon().until(() -> growing(place) || jobs.status(id).equals("completed"));
      if (growing(place)) {
        return id;
      }
    }
    throw new AssertionError("no copy was seen before it was complete");
  }

  private static boolean growing(Path place) throws IOException {
    for (Path part : archives(place)) {
      if (part.toString().endsWith(".part") && part.toFile().length() > 0) {
        return true;
      }
    }
    return false;
  }

  private static List<Path> archives(Path place) throws IOException {
    if (!Files.isDirectory(place)) {
      return List.of();
    }
    try (Stream<Path> files = Files.list(place)) {
      return files.filter(file -> file.toString().contains(".tar")).toList();
    }
  }
}
