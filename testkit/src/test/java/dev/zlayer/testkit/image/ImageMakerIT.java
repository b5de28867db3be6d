package dev.zlayer.testkit.image;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tools that others wrote read what the image maker writes. */
@Requires({Fact.SKOPEO, Fact.BUSYBOX, Fact.ZSTD})
class ImageMakerIT {
  @TempDir Path directory;

  @ParameterizedTest
  @EnumSource(Compression.class)
  void skopeoCopiesALayoutAndChecksEveryDigest(Compression compression) throws Exception {
    MadeImage made =
        ImageMaker.scratch().layer(compression, List.of(TarEntry.file("a", "b"))).make();
    Path layout = made.layout(directory.resolve("in"), "v1");
    String out = "oci:" + directory.resolve("out") + ":v1";
    run("skopeo", "copy", "--preserve-digests", "oci:" + layout + ":v1", out);
    assertThat(inspect(out)).isEqualTo(made.digest().toString());
  }

  @Test
  void skopeoReadsBothKindsOfArchive() throws Exception {
    MadeImage made = ImageMaker.busybox().make();
    Path oci = Files.write(directory.resolve("oci.tar"), made.ociArchive("v1"));
    assertThat(inspect("oci-archive:" + oci + ":v1")).isEqualTo(made.digest().toString());
    Path docker = Files.write(directory.resolve("docker.tar"), made.dockerArchive("made:v1"));
    Path unpacked = directory.resolve("unpacked");
    run("skopeo", "copy", "docker-archive:" + docker, "oci:" + unpacked + ":v1");
    run("skopeo", "inspect", "oci:" + unpacked + ":v1");
  }

  @Test
  @Requires({Fact.UMOCI, Fact.ROOT})
  void busyboxUnpacksToASystemThatRuns() throws Exception {
    Path layout = ImageMaker.busybox().make().layout(directory.resolve("layout"), "v1");
    Path bundle = directory.resolve("bundle");
    run("umoci", "unpack", "--image", layout + ":v1", bundle.toString());
    assertThat(
            run(
                "chroot",
                bundle.resolve("rootfs").toString(),
                "/bin/sh",
                "-c",
                "id -u; ls -ld tmp"))
        .startsWith("0\ndrwxrwxrwt");
  }

  private static String inspect(String image) throws InterruptedException {
    Json json = JsonText.parse(run("skopeo", "inspect", image));
    return json.at("Digest").string().orElseThrow();
  }

  private static String run(String... arguments) throws InterruptedException {
    return Processes.check(Command.of(arguments), Deadline.after(Duration.ofMinutes(1))).stdout();
  }
}
