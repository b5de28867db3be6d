package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.oci.ImageRef;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import java.io.ByteArrayInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

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
