package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example of docs/embedding.md does what it says, and the page shows this very example. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class EmbeddingIT {
  @Test
  void theExampleRuns() throws Exception {
    try (Node node = new Node()) {
      try (Agent agent = Agent.open(node.configured().config(), Map.of(), Node.log())) {
        byte[] archive = ImageMaker.busybox().cmd("sh").make().ociArchive(Node.IMAGE);
        agent.images().images().load(new ByteArrayInputStream(archive));
      }
      String line =
          EmbeddingExample.run(
              node.configured().config(), ImageRef.parse(Node.IMAGE), "echo", "embedded");
      assertThat(line).isEqualTo("embedded");
    }
  }

  /** Another project: the text of the page in a package of its own, on the artefacts alone. */
  @Test
  void anotherProgramIsBuiltFromTheArtefacts(@TempDir Path project) throws Exception {
    String page = Files.readString(Path.of("../docs/embedding.md"));
    int from = page.indexOf("static String run(");
    String method = page.substring(from, page.indexOf("```", from));
    String imports =
        Files.readAllLines(Path.of("src/test/java/dev/zlayer/daemon/EmbeddingExample.java"))
            .stream()
            .filter(line -> line.startsWith("import "))
            .collect(Collectors.joining("\n"));
    Path source =
        Files.writeString(
            project.resolve("Program.java"),
            """
            %s
            import dev.zlayer.daemon.Agent;
            import dev.zlayer.daemon.config.ConfigReader;
            import java.util.Optional;

            public class Program {
              %s
              public static void main(String[] words) throws Exception {
                AgentConfig config =
                    ConfigReader.read(Optional.empty(), System.getenv(), Map.of()).config();
                System.out.println(run(config, ImageRef.parse(words[0]), "echo", "hi"));
              }
            }
            """
                .formatted(imports, method));
    String artefacts =
        Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
            .filter(path -> !path.matches(".*(test-classes|testkit|junit|assertj|awaitility).*"))
            .collect(Collectors.joining(File.pathSeparator));
    assertThat(
            ToolProvider.getSystemJavaCompiler()
                .run(
                    null,
                    null,
                    null,
                    "-proc:none",
                    "-Xlint:-options",
                    "-cp",
                    artefacts,
                    "-d",
                    project.toString(),
                    source.toString()))
        .isZero();
    try (Node node = new Node()) {
      try (Agent agent = Agent.open(node.configured().config(), Map.of(), Node.log())) {
        byte[] archive = ImageMaker.busybox().cmd("sh").make().ociArchive(Node.IMAGE);
        agent.images().images().load(new ByteArrayInputStream(archive));
      }
      AgentConfig config = node.configured().config();
      var result =
          Processes.check(
              Command.of(
                      Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                      "--enable-native-access=ALL-UNNAMED",
                      "-cp",
                      artefacts + File.pathSeparator + project,
                      "Program",
                      Node.IMAGE)
                  .withEnv(
                      Map.of(
                          "ZLAYER_DATA_DIR", config.dataDir(),
                          "ZLAYER_NETWORK_PREFIX", config.networkPrefix().orElseThrow(),
                          "ZLAYER_NETWORK_RANGE", config.networkRange().orElseThrow())),
              Deadline.after(Duration.ofSeconds(60)));
      assertThat(result.stdout()).isEqualTo("hi\n");
    }
  }

  @Test
  void thePageShowsIt() throws Exception {
    String source =
        Files.readString(Path.of("src/test/java/dev/zlayer/daemon/EmbeddingExample.java"));
    String method =
        source.substring(source.indexOf("  static String run("), source.lastIndexOf('}'));
    assertThat(Files.readString(Path.of("../docs/embedding.md")))
        .contains(method.stripTrailing().stripIndent());
  }
}
