package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.wasm.WasmMaker;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** WebAssembly modules as jobs through the REST API: what limits them really limits them. */
@Requires(Fact.WASI_CLANG)
class ModulesIT {
  private static final String MODULE = "localhost/limits:1";
  private static final String PROGRAM =
      """
      #include <errno.h>
      #include <stdio.h>
      #include <stdlib.h>
      #include <string.h>
      int main(int count, char **words) {
        if (!strcmp(words[1], "spin")) { puts("round"); fflush(stdout); for (;;) errno = 0; }
        if (!strcmp(words[1], "eat")) {
          char *place = malloc(atoi(words[2]) << 20);
          if (!place) { puts("no memory"); return 7; }
          memset(place, 1, atoi(words[2]) << 20);
          puts("eaten");
          return place[5] - 1;
        }
        char line[64];
        FILE *in = fopen("/data/given", "r");
        printf("read %s", in && fgets(line, sizeof line, in) ? line : "nothing\\n");
        FILE *out = fopen("/data/made", "w");
        puts(out ? "written" : strerror(errno));
        return out ? 0 : 9;
      }
      """;
  private static final String FILE =
      """
      version: v1
      deployment: modules
      services:
        spin:
          rtype: job
          image: {name: MODULE, pull_policy: never}
          command: [spin]
          job: {deadline: 6s}
        small:
          rtype: job
          image: {name: MODULE, pull_policy: never}
          command: [eat, "64"]
          resources: {memory: 16Mi}
        large:
          rtype: job
          image: {name: MODULE, pull_policy: never}
          command: [eat, "64"]
          resources: {memory: 128Mi}
        reader:
          rtype: job
          image: {name: MODULE, pull_policy: never}
          command: [files]
          storage: [{type: bind, source: PLACE, target: /data, readonly: true}]
        writer:
          rtype: job
          image: {name: MODULE, pull_policy: never}
          command: [files]
          storage: [{type: bind, source: PLACE, target: /data}]
      """;

  @TempDir static Path place;
  private static Node node;
  private static Daemon daemon;
  private static Rest rest;

  @BeforeAll
  static void open() throws Exception {
    Files.writeString(place.resolve("given"), "bread\n");
    node = new Node();
    daemon = Daemon.open(node.configured(), System.getenv(), Node.log());
    rest = node.rest();
    rest.postBytes("/images/import?ref=" + MODULE, WasmMaker.ofC(PROGRAM)).expect(200);
    String file = FILE.replace("MODULE", MODULE).replace("PLACE", place.toString());
    rest.put("/deployments/modules?directory=/", file.getBytes(StandardCharsets.UTF_8)).expect(202);
  }

  @AfterAll
  static void close() throws Exception {
    try (var _ = node;
        var _ = daemon;
        var _ = rest) {
      // in this order, from the last to the first
    }
  }

  /** How a run of the job ended. */
  private record Run(Json end, String output) {}

  private static Run run(String job) throws InterruptedException {
    String id =
        rest.post("/jobs/modules/" + job + "/executions", "{}")
            .expect(201)
            .json()
            .at("id")
            .string()
            .orElseThrow();
    Json end = rest.get("/executions/" + id + "/wait?timeout=60s").expect(200).json();
    return new Run(end, rest.get("/executions/" + id + "/logs?format=raw").expect(200).text());
  }

  @Test
  void aModuleThatSpinsEndsAtItsDeadline() throws Exception {
    Run run = run("spin");
    assertThat(run.end().at("status").string()).contains("failed");
    assertThat(run.end().toString()).contains("deadline");
    assertThat(run.output()).isEqualTo("round\n");
  }

  @Test
  void memoryIsRefusedBeyondTheLimitAndGivenBelow() throws Exception {
    Run small = run("small");
    assertThat(small.output()).isEqualTo("no memory\n");
    assertThat(small.end().at("code").integer()).contains(7L);
    Run large = run("large");
    assertThat(large.output()).isEqualTo("eaten\n");
    assertThat(large.end().at("status").string()).contains("completed");
  }

  @Test
  void aReadOnlyDirectoryIsReadAndNotWritten() throws Exception {
    Run reader = run("reader");
    assertThat(reader.output()).startsWith("read bread\n").doesNotContain("written");
    assertThat(reader.end().at("code").integer()).contains(9L);
    assertThat(place.resolve("made")).doesNotExist();
    assertThat(run("writer").output()).isEqualTo("read bread\nwritten\n");
    assertThat(place.resolve("made")).exists();
  }
}
