package dev.zlayer.runtime.observe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.zlayer.container.LogSpec;
import dev.zlayer.container.PathStat;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Requires({Fact.ROOT, Fact.RUNC, Fact.CONMON, Fact.BUSYBOX})
@Timeout(120)
class RootFilesIT {

  @TempDir Path directory;
  private Path root;
  private Box box;

  @BeforeEach
  void prepare() throws Exception {
    root = Box.makeRoot(Files.createDirectory(directory.resolve("root")));
    Files.writeString(root.resolve("etc/motd"), "inside");
    box = new Box(directory, root, LogSpec.DEFAULT);
  }

  @AfterEach
  void close() throws Exception {
    box.close();
    // JUnit takes minutes for a deep tree
    RootedDirectory.removeTree(root.resolve("data"));
    RootedDirectory.removeTree(root.resolve("etc"));
  }

  private RootFiles stopped() {
    return RootFiles.stopped(root, false, List.of(), Optional.empty());
  }

  @Test
  void aRunningContainersOwnMountsAreSeen() throws Exception {
    box.start("echo hello >/scratch/note; echo ready; sleep 1000");
    await().until(() -> Files.readString(box.logs().current()).contains("ready"));
    RootFiles files = RootFiles.running(box.pid(), Optional.empty());
    assertThat(files.stat("/scratch/note").size()).isEqualTo(6);
    assertThat(list(copyOut(files, "/scratch")))
        .containsExactlyInAnyOrder("scratch/", "scratch/note");
    assertThat(root.resolve("scratch/note")).doesNotExist();

    files.copyIn("/scratch", new ByteArrayInputStream(copyOut(stopped(), "/etc/motd")));
    assertThat(files.stat("/scratch/motd").size()).isEqualTo(6);

    List<String> all = list(copyOut(files, "/"));
    assertThat(all).contains("./", "proc/", "etc/motd", "scratch/note");
    assertThat(all).noneMatch(name -> name.startsWith("proc/") && !name.equals("proc/"));
  }

  @Test
  void linksNeverLeadOut() throws Exception {
    Files.writeString(directory.resolve("secret"), "outside");
    Files.createSymbolicLink(root.resolve("abs"), Path.of("/etc"));
    Files.createSymbolicLink(root.resolve("up"), Path.of("../../../../../etc"));
    Files.createSymbolicLink(root.resolve("out"), directory.resolve("secret"));

    assertThat(stopped().stat("/abs/motd").size()).isEqualTo(6);
    assertThat(stopped().stat("/up/motd").size()).isEqualTo(6);
    assertThat(stopped().stat("/abs"))
        .extracting(PathStat::linkTarget)
        .isEqualTo(java.util.Optional.of("/etc"));
    assertThat(list(copyOut(stopped(), "/out"))).containsExactly("out");
    assertThatThrownBy(() -> stopped().stat("/out/")).isInstanceOf(AgentException.class);
    assertThatThrownBy(() -> stopped().stat("/no/such"))
        .isInstanceOf(AgentException.NotFound.class)
        .hasMessageContaining("/no/such");
    assertThat(stopped().stat("/../../etc/motd").name()).isEqualTo("motd");
  }

  /** Each has to be remembered by its name until the archive is complete. */
  @Test
  void hardLinksThatWouldFillTheMemoryAreRefused() throws Exception {
    Path deep = Files.createDirectories(root.resolve("data"));
    while (deep.toString().length() < 3700) {
      deep = Files.createDirectory(deep.resolve("d".repeat(200)));
    }
    for (int i = 0; i < 9500; i++) {
      Files.createLink(deep.resolve("link" + i), Files.createFile(deep.resolve("file" + i)));
    }
    assertThatThrownBy(() -> stopped().copyOut("/data", OutputStream.nullOutputStream()))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("hard links");
  }

  @Test
  void whatIsPreservedComesBackTheSame() throws Exception {
    Path tree = Files.createDirectory(root.resolve("tree"));
    sh(
        """
        cd %s && mkdir -m 700 sub && echo x >sub/file && chmod 4751 sub/file && chown 12:34 sub/file
        ln sub/file hard; ln -s sub/file soft; mkfifo pipe; mknod null c 1 3; : >empty
        printf 'n%%s' "$(head -c 150 /dev/zero | tr '\\0' n)" | xargs touch
        truncate -s 3M sparse; touch -d '2001-02-03 04:05:06.789' sub/file sub
        setfattr -n user.note -v hello sub/file
        """
            .formatted(tree));
    stopped().copyIn("/data", new ByteArrayInputStream(copyOut(stopped(), "/tree")));
    String describe =
        "cd %s/tree && find . -printf '%%P %%y %%m %%U:%%G %%n %%T@ %%l\\n' | sort; cat sub/file;"
            + " getfattr -d sub/file";
    assertThat(sh(describe.formatted(root.resolve("data"))))
        .isEqualTo(sh(describe.formatted(root)));
  }

  @Test
  void anArchiveOfAnotherToolIsTakenAndAHostileOneRefused() throws Exception {
    sh(
        "mkdir %1$s/a && echo new >%1$s/a/motd && tar -C %1$s -cf %1$s/a.tar a/motd"
            .formatted(directory));
    stopped().copyIn("/etc", Files.newInputStream(directory.resolve("a.tar")));
    assertThat(root.resolve("etc/a/motd")).hasContent("new");

    sh("cd %1$s/a && tar -cPf %1$s/b.tar ../a.tar".formatted(directory));
    assertThatThrownBy(
            () -> stopped().copyIn("/etc", Files.newInputStream(directory.resolve("b.tar"))))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("../a.tar");
    assertThatThrownBy(
            () -> stopped().copyIn("/etc", new ByteArrayInputStream(new byte[] {1, 2, 3})))
        .isInstanceOf(AgentException.InvalidSpec.class);
    assertThatThrownBy(
            () -> stopped().copyIn("/etc/motd", Files.newInputStream(directory.resolve("a.tar"))))
        .isInstanceOf(AgentException.InvalidSpec.class);
  }

  @Test
  void volumesOfAStoppedContainerAreSeen() throws Exception {
    Path volume = Files.createDirectory(directory.resolve("volume"));
    Files.writeString(volume.resolve("row"), "1");
    Files.writeString(directory.resolve("hosts"), "127.0.0.1");
    RootFiles files =
        RootFiles.stopped(
            root,
            false,
            List.of(
                new RootFiles.Bind("/data", volume, false),
                new RootFiles.Bind("/etc/hosts", directory.resolve("hosts"), true)),
            Optional.empty());
    assertThat(files.stat("/data/row").size()).isEqualTo(1);
    assertThat(files.stat("/etc/hosts").size()).isEqualTo(9);
    assertThat(files.stat("/etc/motd").size()).isEqualTo(6);
    assertThat(list(copyOut(files, "/data"))).containsExactlyInAnyOrder("data/", "data/row");
    assertThat(list(copyOut(files, "/etc/hosts"))).containsExactly("hosts");
    files.copyIn("/data", new ByteArrayInputStream(copyOut(stopped(), "/etc/motd")));
    assertThat(volume.resolve("motd")).hasContent("inside");
  }

  @Test
  void whatIsMountedReadOnlyIsNotWritten() throws Exception {
    Path volume = Files.createDirectory(directory.resolve("volume"));
    Files.writeString(volume.resolve("motd"), "of the host");
    byte[] incoming = copyOut(stopped(), "/etc/motd");
    RootFiles files =
        RootFiles.stopped(
            root, true, List.of(new RootFiles.Bind("/data", volume, true)), Optional.empty());
    for (String target : List.of("/data", "/data/", "/etc/../data", "/etc")) {
      assertThatThrownBy(() -> files.copyIn(target, new ByteArrayInputStream(incoming)))
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessageContaining("read-only");
    }
    assertThat(volume.resolve("motd")).hasContent("of the host");
  }

  @Test
  void aTreeDeeperThanTheStackIsCopied() throws Exception {
    nest(1500);
    byte[] tar = copyOut(stopped(), "/data/deep");
    assertThat(list(tar)).hasSize(1502).contains("deep" + "/d".repeat(1500) + "/end");
    stopped().copyIn("/etc", new ByteArrayInputStream(tar));
    assertThat(list(copyOut(stopped(), "/etc/deep"))).hasSize(1502);
  }

  @Test
  void whatNoPathCanNameIsRefusedAndNotLeftOut() throws Exception {
    nest(5000);
    assertThatThrownBy(() -> copyOut(stopped(), "/data/deep"))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("too long");
  }

  private void nest(int depth) throws Exception {
    String hundred = "d/".repeat(100);
    sh(
        "mkdir -p %1$s/data/deep; cd %1$s/data/deep; i=0;".formatted(root)
            + " while [ $i -lt %d ]; do mkdir -p %s; cd -P %s; i=$((i + 100)); done; : >end"
                .formatted(depth, hundred, hundred));
  }

  @Test
  void holesTakeNoRoomInAnArchiveNorAfterIt() throws Exception {
    sh(
        "cd %s/data && truncate -s 200G holes && printf mid | dd of=holes bs=1 seek=5G conv=notrunc"
            .formatted(root));
    byte[] tar = copyOut(stopped(), "/data/holes");
    assertThat(tar).hasSizeLessThan(1 << 20);
    stopped().copyIn("/etc", new ByteArrayInputStream(tar));
    assertThat(sh("cd %s/etc; stat -c '%%s' holes; du -k holes | cut -f1".formatted(root)).lines())
        .satisfiesExactly(
            size -> assertThat(size).isEqualTo("" + (200L << 30)),
            used -> assertThat(Long.parseLong(used)).isLessThan(1024));
    assertThat(sh("dd if=%s/etc/holes bs=1 skip=5G count=3 2>/dev/null".formatted(root)))
        .isEqualTo("mid");
    // another program reads it the same
    Path elsewhere = Files.createDirectory(directory.resolve("elsewhere"));
    Processes.check(Command.of("tar", "-C", elsewhere + "", "-xf", "-").withInput(tar), soon());
    assertThat(Files.size(elsewhere.resolve("holes"))).isEqualTo(200L << 30);
  }

  /** A directory and a link to a secret of the host take turns under one name while copying. */
  @Test
  void aLinkSwappedWhileCopyingLeadsNowhereElse() throws Exception {
    Path secret = Files.createDirectory(directory.resolve("secrets"));
    Files.writeString(secret.resolve("key"), "outside");
    Path real = Files.createDirectory(root.resolve("data/real"));
    Files.writeString(real.resolve("key"), "inside!");
    Path link = Files.createSymbolicLink(root.resolve("data/link"), secret);
    byte[] incoming = archive("data/swap/key", "written");
    var done = new AtomicBoolean();
    try (var scope = new TaskScope("swap")) {
      scope.fork(() -> swap(real, link, root.resolve("data/swap"), done));
      for (int i = 0; i < 300; i++) {
        try {
          byte[] copied = copyOut(stopped(), "/data/swap/");
          assertThat(new String(copied, java.nio.charset.StandardCharsets.ISO_8859_1))
              .doesNotContain("outside");
          stopped().copyIn("/", new ByteArrayInputStream(incoming));
        } catch (AgentException _) {
          // the name was gone, or a link that leads nowhere within the root
        }
      }
      done.set(true);
      scope.join();
    }
    assertThat(secret.resolve("key")).hasContent("outside");
  }

  private static boolean swap(Path one, Path two, Path name, AtomicBoolean done) throws Exception {
    while (!done.get()) {
      move(one, name);
      move(name, one);
      move(two, name);
      move(name, two);
    }
    return true;
  }

  private static void move(Path from, Path to) throws Exception {
    try {
      if (Files.exists(from, LinkOption.NOFOLLOW_LINKS)
          && !Files.exists(to, LinkOption.NOFOLLOW_LINKS)) {
        Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
      }
    } catch (AtomicMoveNotSupportedException e) {
      throw e;
    } catch (java.io.IOException _) {
      // the copy made something of that name meanwhile
    }
  }

  private byte[] archive(String name, String content) throws Exception {
    Path file = directory.resolve("staging").resolve(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, content);
    sh("tar -C %1$s/staging -cf %1$s/in.tar %2$s".formatted(directory, name));
    return Files.readAllBytes(directory.resolve("in.tar"));
  }

  private static byte[] copyOut(RootFiles files, String path) throws Exception {
    var out = new ByteArrayOutputStream();
    files.copyOut(path, out);
    return out.toByteArray();
  }

  /** What another tool finds in an archive. */
  private static List<String> list(byte[] tar) throws Exception {
    var result = Processes.check(Command.of("tar", "-tf", "-").withInput(tar), soon());
    assertThat(result.stderr()).isEmpty();
    return result.stdout().lines().toList();
  }

  /** For one program, not for all tests together. */
  private static Deadline soon() {
    return Deadline.after(Duration.ofSeconds(100));
  }

  private static String sh(String script) throws Exception {
    return Processes.check(Command.of("sh", "-c", script), soon()).stdout();
  }
}
