package dev.zlayer.runtime.wasm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.wasm.WasmMaker;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A module sees the directories it is given, and nothing else. */
@Requires(Fact.WASI_CLANG)
class WasmFilesIT {
  @TempDir static Path directory;
  @TempDir Path place;
  private static WasmStage fixture;
  private static ImageRef image;
  private Path inside;
  private Path outside;

  /** Each argument is one operation; the answer is "ok", content, or the name of the error. */
  private static final String PROGRAM =
      """
      #include <dirent.h>
      #include <errno.h>
      #include <fcntl.h>
      #include <stdio.h>
      #include <string.h>
      #include <sys/stat.h>
      #include <unistd.h>
      static void answer(int result) { printf("%s\\n", result < 0 ? strerror(errno) : "ok"); }
      int main(int argc, char **argv) {
        for (int i = 1; i + 1 < argc; i += 2) {
          const char *op = argv[i], *path = argv[i + 1];
          char text[64] = {0};
          struct stat st;
          if (!strcmp(op, "read") || !strcmp(op, "raw")) {
            int fd = open(path, O_RDONLY | (op[1] == 'a' ? O_NOFOLLOW : 0));
            if (fd < 0) answer(fd);
            else { read(fd, text, 63); printf("%s\\n", text); close(fd); }
          } else if (!strcmp(op, "write")) {
            int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
            answer(fd < 0 ? fd : (int) write(fd, "written", 7));
          } else if (!strcmp(op, "mkdir")) { answer(mkdir(path, 0755)); }
          else if (!strcmp(op, "unlink")) { answer(unlink(path)); }
          else if (!strcmp(op, "stat")) { answer(stat(path, &st)); }
          else if (!strcmp(op, "link")) { answer(symlink("note", path)); }
          else if (!strcmp(op, "move")) { answer(rename(path, "/data/moved")); }
          else if (!strcmp(op, "list")) {
            DIR *d = opendir(path);
            if (!d) { answer(-1); continue; }
            int n = 0;
            for (struct dirent *e; (e = readdir(d));) n++;
            printf("%d entries\\n", n);
          } else if (!strcmp(op, "open-many")) {
            int n = 0;
            while (open(path, O_RDONLY) >= 0) n++;
            printf("%s %s\\n", n > 100 && n < 1000 ? "many" : "odd", strerror(errno));
          }
        }
        return 0;
      }
      """;

  @BeforeAll
  static void open() throws InterruptedException {
    fixture = WasmStage.open(directory);
    image = fixture.image("files", WasmMaker.ofC(PROGRAM));
  }

  @AfterAll
  static void close() {
    fixture.close();
  }

  @BeforeEach
  void fill() throws IOException {
    inside = Files.createDirectories(place.resolve("inside"));
    outside = Files.createDirectories(place.resolve("outside"));
    Files.writeString(outside.resolve("secret"), "secret");
    Files.writeString(inside.resolve("note"), "a note");
    Files.createDirectories(inside.resolve("sub"));
    Files.createSymbolicLink(inside.resolve("to-note"), Path.of("note"));
    Files.createSymbolicLink(inside.resolve("sub/up"), Path.of("../note"));
    Files.createSymbolicLink(inside.resolve("out"), outside);
    Files.createSymbolicLink(inside.resolve("out-relative"), Path.of("../outside"));
    Files.createSymbolicLink(inside.resolve("out-file"), outside.resolve("secret"));
  }

  private List<String> run(boolean readOnly, String... words) throws InterruptedException {
    return run(WasmStage.spec(image, words), new Mount.Bind(inside, "/data", readOnly));
  }

  private static List<String> run(ContainerSpec spec, Mount... mounts) throws InterruptedException {
    return fixture.run(spec.withFileSystem(FileSystemSpec.of(mounts))).lines();
  }

  @Test
  void readsWritesAndListsWhatItIsGiven() throws Exception {
    assertThat(
            run(
                false,
                "read",
                "/data/note",
                "read",
                "/data/to-note",
                "read",
                "/data/sub/up",
                "write",
                "/data/new",
                "mkdir",
                "/data/made",
                "write",
                "/data/made/deep",
                "stat",
                "/data/made",
                "unlink",
                "/data/note",
                "read",
                "/data/note",
                "read",
                "/etc/passwd",
                "move",
                "/data/new"))
        .containsExactly(
            "a note",
            "a note",
            "a note",
            "ok",
            "ok",
            "ok",
            "ok",
            "ok",
            "No such file or directory",
            "Capabilities insufficient",
            "ok");
    assertThat(inside.resolve("moved")).hasContent("written");
    assertThat(inside.resolve("made/deep")).hasContent("written");
    assertThat(inside.resolve("note")).doesNotExist();
  }

  @Test
  void readOnlyIsHonoured() throws Exception {
    assertThat(
            run(
                true,
                "read",
                "/data/note",
                "write",
                "/data/note",
                "write",
                "/data/new",
                "mkdir",
                "/data/made",
                "unlink",
                "/data/note",
                "move",
                "/data/note"))
        .containsExactly(
            "a note",
            "Read-only file system",
            "Read-only file system",
            "Read-only file system",
            "Read-only file system",
            "Read-only file system");
    assertThat(inside.resolve("note")).hasContent("a note");
    assertThat(inside.resolve("new")).doesNotExist();
  }

  /** Also where the link is not the last part of the name, and where it is not to be followed. */
  @Test
  void noLinkLeadsOut() throws Exception {
    List<String> answers =
        run(
            false,
            "read",
            "/data/out/secret",
            "raw",
            "/data/out/secret",
            "read",
            "/data/out-relative/secret",
            "raw",
            "/data/out-relative/secret",
            "read",
            "/data/out-file",
            "stat",
            "/data/out/secret",
            "write",
            "/data/out/new",
            "unlink",
            "/data/out/secret",
            "mkdir",
            "/data/out/made",
            "read",
            "/data/../outside/secret",
            "list",
            "/data/out");
    assertThat(answers)
        .hasSize(11)
        .doesNotContain("secret", "ok")
        .noneMatch(a -> a.contains("entries"));
    assertThat(outside.resolve("secret")).hasContent("secret");
    assertThat(outside.resolve("new")).doesNotExist();
    assertThat(outside.resolve("made")).doesNotExist();
    List<String> linked = run(false, "list", "/data", "link", "/data/mine", "move", "/data/out");
    assertThat(linked.getFirst()).contains("entries");
    assertThat(linked.subList(1, 3))
        .isEqualTo(List.of("Operation not permitted", "Operation not permitted"));
    assertThat(inside.resolve("mine")).doesNotExist();
  }

  /** Somebody who shares the volume swaps a directory for a link to one of the host. */
  @Test
  void aLinkSwappedMeanwhileLeadsNowhereElse() throws Exception {
    Path real = Files.createDirectory(inside.resolve("real"));
    Files.writeString(real.resolve("secret"), "harmless");
    Path link = Files.createSymbolicLink(inside.resolve("link"), outside);
    Path swapped = inside.resolve("swapped");
    var words = new ArrayList<String>();
    for (int i = 0; i < 400; i++) {
      words.addAll(List.of("read", "/data/swapped/secret", "write", "/data/swapped/new"));
    }
    var done = new AtomicBoolean();
    List<String> answers;
    try (var scope = new TaskScope("swap")) {
      scope.fork(
          () -> {
            while (!done.get()) {
              Files.move(real, swapped, StandardCopyOption.ATOMIC_MOVE);
              Files.move(swapped, real, StandardCopyOption.ATOMIC_MOVE);
              Files.move(link, swapped, StandardCopyOption.ATOMIC_MOVE);
              Files.move(swapped, link, StandardCopyOption.ATOMIC_MOVE);
            }
            return true;
          });
      answers = run(false, words.toArray(String[]::new));
      done.set(true);
      scope.join();
    }
    assertThat(answers).doesNotContain("secret");
    assertThat(answers).filteredOn(answer -> !answer.isEmpty()).hasSize(800);
    assertThat(outside.resolve("new")).doesNotExist();
    assertThat(outside.resolve("secret")).hasContent("secret");
  }

  @Test
  void openFilesAreBounded() throws InterruptedException {
    assertThat(run(true, "open-many", "/data/note"))
        .containsExactly("many No file descriptors available");
  }

  @Test
  void volumesOutliveOrFollowTheirContainer() throws Exception {
    var named = new Mount.Named("vol-" + WasmStage.id().service(), "/data", false);
    assertThat(run(WasmStage.spec(image, "write", "/data/kept"), named)).containsExactly("ok");
    assertThat(run(WasmStage.spec(image, "read", "/data/kept"), named)).containsExactly("written");

    var spec =
        WasmStage.spec(image, "read", "/own/f", "write", "/own/f")
            .withFileSystem(FileSystemSpec.of(new Mount.Anonymous("/own")));
    Container container = fixture.start(spec);
    WasmStage.ended(container);
    container.start();
    WasmStage.ended(container);
    assertThat(WasmStage.lines(container))
        .containsExactly("No such file or directory", "ok", "written", "ok");
    Path volumes = fixture.dirs.anonymousVolumes(container.id().runtimeName());
    assertThat(volumes).exists();
    container.remove(false);
    assertThat(volumes).doesNotExist();
  }

  @Test
  void whatCannotBeMountedIsRefused() {
    List<Mount> wrong = new ArrayList<>();
    wrong.add(new Mount.Bind(inside.resolve("note"), "/note", true));
    wrong.add(new Mount.Tmpfs("/tmp", OptionalLong.empty(), OptionalInt.empty()));
    for (Mount mount : wrong) {
      var spec = WasmStage.spec(image).withFileSystem(FileSystemSpec.of(mount));
      assertThatThrownBy(() -> fixture.create(spec)).isInstanceOf(AgentException.Unsupported.class);
    }
    var absent =
        WasmStage.spec(image)
            .withFileSystem(FileSystemSpec.of(new Mount.Bind(place.resolve("no"), "/x", true)));
    assertThatThrownBy(() -> fixture.create(absent)).isInstanceOf(AgentException.InvalidSpec.class);
  }
}
