package dev.zlayer.daemon;

import static dev.zlayer.daemon.DockerChild.body;
import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.linux.Mounts;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Parts of volumes, and mounts that are made below a bind while its container runs. */
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class DockerMountsIT {
  private static final Duration LIMIT = Duration.ofSeconds(20);

  @RegisterExtension static final DockerNode node = new DockerNode();

  @TempDir Path directory;

  private static Json part(String subpath) {
    return Json.object()
        .put("Type", "volume")
        .put("Source", "whole")
        .put("Target", "/part")
        .put("VolumeOptions", Json.object().put("Subpath", subpath).build())
        .build();
  }

  private static String container(Json mount, String... words) {
    return body(Map.of("NetworkMode", "none", "Mounts", List.of(mount)), words);
  }

  private static Path volume() throws Exception {
    node.wire().post("/volumes/create", "{\"Name\": \"whole\"}").expect(201);
    Json volume = node.wire().send("GET", "/volumes/whole").json();
    String mountpoint = volume.at("Mountpoint").string().orElseThrow();
    assertThat(mountpoint).contains("/whole/");
    return Path.of(mountpoint);
  }

  private static String run(String name) throws Exception {
    node.wire().post("/containers/" + name + "/start", "").expect(204);
    node.wire().post("/containers/" + name + "/wait", "").expect(200);
    return DockerWire.frames(
        node.wire()
            .send("GET", "/containers/" + name + "/logs?stdout=1")
            .text()
            .getBytes(StandardCharsets.ISO_8859_1));
  }

  @Test
  void aPartOfAVolumeIsMounted() throws Exception {
    Path volume = volume();
    Files.createDirectories(volume.resolve("a/b"));
    Files.writeString(volume.resolve("a/b/note"), "part");
    Files.writeString(volume.resolve("secret"), "not this");
    node.wire().create("directory", container(part("a/b"), "sh", "-c", "ls /part; cat /part/note"));
    assertThat(run("directory")).isEqualTo("1:note\n1:part");
    node.wire().create("file", container(part("a/b/note"), "cat", "/part"));
    assertThat(run("file")).isEqualTo("1:part");
    assertThat(run("file")).isEqualTo("1:part1:part"); // a second time
    // who can write in the volume cannot lead a container out of it, now or before its start
    Files.createSymbolicLink(volume.resolve("out"), Path.of("/etc"));
    assertThat(
            node.wire()
                .post("/containers/create", container(part("out"), "true"))
                .expect(400)
                .message())
        .contains("volume whole has no out");
    node.wire().create("swapped", container(part("a/b"), "ls", "/part"));
    Files.move(volume.resolve("a"), volume.resolve("moved"));
    Files.createDirectory(volume.resolve("a"));
    Files.createSymbolicLink(volume.resolve("a/b"), Path.of("/etc"));
    assertThat(run("swapped")).isEqualTo("1:note\n");
    for (String name : List.of("directory", "file", "swapped")) {
      node.wire().send("DELETE", "/containers/" + name).expect(204);
    }
    Path own = node.node().directories().data();
    assertThat(Mounts.list())
        .filteredOn(mount -> mount.target().startsWith(own))
        .noneMatch(mount -> mount.target().toString().contains("subpath-"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"..", "../x", "a/../..", "/etc", "."})
  void aPartIsWithinItsVolume(String subpath) throws Exception {
    assertThat(
            node.wire()
                .post("/containers/create", container(part(subpath), "true"))
                .expect(400)
                .message())
        .isEqualTo("subpath must be a relative path within the volume");
  }

  private static void mount(String... words) throws InterruptedException {
    Processes.check(Command.of(words), Deadline.after(LIMIT));
  }

  @Test
  void mountsArePassedOnAsAsked() throws Exception {
    Path shared = Files.createDirectory(directory.resolve("shared"));
    mount("mount", "-t", "tmpfs", "tmpfs", shared.toString());
    try {
      mount("mount", "--make-shared", shared.toString());
      Files.createDirectory(shared.resolve("late"));
      Files.createDirectory(shared.resolve("inner"));
      String wait = "until [ -e /in/late/file ]; do sleep 0.05; done; ";
      create("slave", shared + ":/in:rslave", wait + "echo seen");
      create("shared", shared + ":/in:rshared", "mount -t tmpfs tmpfs /in/inner; sleep 60");
      create("private", shared + ":/in", wait);
      for (String name : List.of("slave", "shared", "private")) {
        node.wire().post("/containers/" + name + "/start", "").expect(204);
      }
      mount("mount", "-t", "tmpfs", "tmpfs", shared.resolve("late").toString());
      Files.createFile(shared.resolve("late/file"));
      node.wire().post("/containers/slave/wait", "").expect(200);
      assertThat(node.wire().send("GET", "/containers/slave/logs?stdout=1").text())
          .contains("seen");
      Awaitility.await().atMost(LIMIT).until(() -> Mounts.mounted(shared.resolve("inner")));
      Json found = node.wire().send("GET", "/containers/private/json").json();
      assertThat(found.at("State").at("Running").bool()).contains(true);
      assertThat(found.at("Mounts").items().getFirst().at("Propagation").string())
          .contains("rprivate");
      assertThat(
              node.wire()
                  .send("GET", "/containers/shared/json")
                  .json()
                  .at("Mounts")
                  .items()
                  .getFirst()
                  .at("Propagation")
                  .string())
          .contains("rshared");
      mount("mount", "--make-private", shared.toString());
      assertThat(
              node.wire()
                  .post(
                      "/containers/create",
                      body(Map.of("Binds", List.of(shared + ":/in:rshared")), "true"))
                  .expect(400)
                  .message())
          .isEqualTo("path %1$s is mounted on %1$s but it is not a shared mount".formatted(shared));
    } finally {
      node.clear();
      mount("umount", "--recursive", shared.toString());
    }
  }

  private static void create(String name, String bind, String script) throws Exception {
    node.wire()
        .create(
            name,
            body(
                Map.of("NetworkMode", "none", "Privileged", true, "Binds", List.of(bind)),
                "sh",
                "-c",
                script));
  }
}
