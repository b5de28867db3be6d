package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.FileChange;
import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.IdRange;
import dev.zlayer.container.Mount;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.container.Resources;
import dev.zlayer.container.SecuritySpec;
import dev.zlayer.container.SecuritySpec.Users;
import dev.zlayer.container.Signal;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.BindMount;
import dev.zlayer.host.linux.Mounts;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Archivable;
import dev.zlayer.port.Container;
import dev.zlayer.port.ProcessListing;
import dev.zlayer.tar.TarMember;
import dev.zlayer.tar.TarReader;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Containers whose root is nobody on the host. */
@Requires({
  Fact.ROOT,
  Fact.RUNC,
  Fact.VIEW,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.OVERLAYFS,
  Fact.GCC
})
class UserNamespacesIT extends OnStage {
  private static final ImageRef IMAGE = ImageRef.parse("localhost/users:test");
  static final SecuritySpec OWN = SecuritySpec.DEFAULT.withUsers(Users.PRIVATE);

  @BeforeAll
  void makeImage() throws Exception {
    Path source =
        Files.writeString(
            directory.resolve("euid.c"),
            "#include <stdio.h>\n#include <unistd.h>\n"
                + "int main(void) { printf(\"%d %d\\n\", getuid(), geteuid()); return 0; }\n");
    Path program = directory.resolve("euid");
    Processes.check(
        Command.of("gcc", "-static", "-o", program.toString(), source.toString()),
        Deadline.after(RuntimeFixture.TIMEOUT));
    fixture.load(
        ImageMaker.busybox()
            .layer(
                TarEntry.file(
                    "etc/passwd",
                    "root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/:/bin/sh\n"
                        .getBytes(StandardCharsets.UTF_8)),
                TarEntry.file("bin/euid", Files.readAllBytes(program)).withMode(04755),
                TarEntry.directory("data"),
                TarEntry.file("data/first", new byte[] {1}).withOwner(1000, 1000))
            .make(),
        IMAGE);
  }

  private static ContainerSpec spec(String script) {
    return ContainerSpec.of(IMAGE)
        .withNetwork(NetworkSpec.NONE)
        .withProcess(ProcessSpec.DEFAULT.withArgs("sh", "-c", script))
        .withSecurity(OWN);
  }

  @Test
  void aReadOnlyRootHasNamesThatCannotBeWritten() throws Exception {
    String script =
        "grep -c localhost /etc/hosts; for f in hosts resolv.conf hostname; do"
            + " (echo x >> /etc/$f) 2>/dev/null && echo wrote $f; done; echo end";
    assertThat(fixture.output(spec(script).withFileSystem(new FileSystemSpec(List.of(), true))))
        .isEqualTo("2\nend");
  }

  @Test
  void rootInsideIsNobodyOutside() throws Exception {
    Container container = running(spec("sleep 300"));
    try {
      long first = first(container);
      assertThat(first).isGreaterThanOrEqualTo(UserIds.Pool.DEFAULT.first());
      String status = Files.readString(Path.of("/proc", pid(container), "status"));
      assertThat(status).contains("Uid:\t%1$d\t%1$d\t%1$d\t%1$d".formatted(first));
      assertThat(Runs.exec(container, "whoami")).isEqualTo("root");
      assertThat(Runs.exec(container, "id", "-u")).isEqualTo("0");
      assertThat(Runs.exec(container, ExecSpec.of("id").withUser("user")))
          .contains("uid=1000(user) gid=1000");
      assertThat(Runs.exec(container, "su", "user", "-c", "id -u")).isEqualTo("1000");
      assertThat(Runs.exec(container, "sh", "-c", "stat -c %u:%g / /bin /data/first /etc/hosts"))
          .isEqualTo("0:0\n0:0\n1000:1000\n0:0");
      assertThat(Runs.exec(container, "sh", "-c", "echo x > /dev/shm/f && stat -c %u /dev/shm/f"))
          .isEqualTo("0");
      assertThat(Runs.exec(container, "sh", "-c", "echo 1.2.3.4 other >> /etc/hosts && echo ok"))
          .isEqualTo("ok");
      assertThat(((ProcessListing) container).processes().rows()).allMatch(r -> r.contains("root"));
    } finally {
      container.remove(true);
    }
  }

  @Test
  void programsWithSetUserIdWorkInside() throws Exception {
    SecuritySpec security = own(List.of(), OWN.seccomp(), false);
    assertThat(fixture.output(spec("su user -c euid").withSecurity(security))).isEqualTo("1000 0");
    assertThat(fixture.output(spec("su user -c euid"))).isEqualTo("1000 1000");
  }

  @Test
  void volumesHaveTheOwnersThatTheContainerGave() throws Exception {
    var volume = new Mount.Named("owned", "/data", false);
    String script =
        "stat -c %u /data/first; echo x > /data/mine; echo x > /data/user; chown 1000 /data/user";
    assertThat(
            fixture.output(spec(script).withFileSystem(FileSystemSpec.of(volume))).lines().toList())
        .containsExactly("1000");
    Path data = fixture.dirs.volumes().resolve("owned");
    assertThat(owner(data.resolve("mine"))).isZero();
    assertThat(owner(data.resolve("user"))).isEqualTo(1000);
    // another container has other numbers and still the same files
    String look = "stat -c %u /data/mine /data/user; echo y >> /data/mine && cat /data/mine";
    for (Users users : List.of(Users.PRIVATE, Users.HOST)) {
      assertThat(
              fixture.output(
                  spec(look)
                      .withSecurity(SecuritySpec.DEFAULT.withUsers(users))
                      .withFileSystem(FileSystemSpec.of(volume))))
          .startsWith("0\n1000\nx\ny");
    }
  }

  @Test
  void filesOfTheHostStayThoseOfTheHost() throws Exception {
    Path bound = Files.createDirectory(directory.resolve("bound"));
    Path theirs = Files.writeString(bound.resolve("of-root"), "of root");
    Files.setPosixFilePermissions(theirs, PosixFilePermissions.fromString("rw-r--r--"));
    Path secret = Files.writeString(bound.resolve("secret"), "secret");
    Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
    Path open = Files.createDirectory(bound.resolve("open"));
    Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
    Container container =
        running(
            spec("sleep 300")
                .withFileSystem(FileSystemSpec.of(new Mount.Bind(bound, "/b", false))));
    try {
      String script =
          "stat -c %u /b/of-root; cat /b/of-root; echo; echo x >> /b/of-root; cat /b/secret; rm -f"
              + " /b/of-root; chown 0 /b/of-root; chmod 777 /b/of-root; ln /b/secret /b/open/l; mv"
              + " /b/secret /b/open; echo x > /b/open/new; echo end";
      assertThat(Runs.exec(container, "sh", "-c", "(" + script + ") 2>/dev/null"))
          .isEqualTo("65534\nof root\nend");
      assertThat(theirs).hasContent("of root");
      assertThat(owner(open.resolve("new"))).isEqualTo(first(container));
      assertThat(open.resolve("l")).doesNotExist();
    } finally {
      container.remove(true);
    }
  }

  @Test
  void twoContainersShareNoUserAndNoFile() throws Exception {
    Path bound = Files.createDirectory(directory.resolve("common"));
    Files.setPosixFilePermissions(bound, PosixFilePermissions.fromString("rwxrwxrwx"));
    var mount = FileSystemSpec.of(new Mount.Bind(bound, "/b", false));
    Container one = running(spec("sleep 300").withFileSystem(mount));
    Container two = running(spec("sleep 300").withFileSystem(mount));
    try {
      assertThat(Math.abs(first(one) - first(two))).isGreaterThanOrEqualTo(IdRange.SIZE);
      Runs.exec(one, "sh", "-c", "umask 077; echo mine > /b/one; mkdir /b/dir");
      assertThat(
              Runs.exec(
                  two,
                  "sh",
                  "-c",
                  "(cat /b/one; echo x > /b/one; ls /b/dir; chown 0 /b/one; stat -c %u /b/one)"
                      + " 2>/dev/null; echo end"))
          .isEqualTo("65534\nend");
      // nor may it touch what the agent holds for the other
      Path place = fixture.dirs.userMounts().resolve(one.id().runtimeName());
      assertThat(Files.getPosixFilePermissions(place))
          .isEqualTo(PosixFilePermissions.fromString("rwx--x---"));
      assertThat((int) Files.getAttribute(place, "unix:gid")).isEqualTo((int) first(one));
    } finally {
      one.remove(true);
      two.remove(true);
    }
  }

  @Test
  void limitsHold() throws Exception {
    String script = "i=0; while [ $i -lt 40 ]; do sleep 20 & i=$((i+1)); done 2>&1; echo end";
    ContainerSpec limited = spec(script).withResources(Resources.DEFAULT.withPids(16));
    assertThat(fixture.output(limited)).containsIgnoringCase("fork");
  }

  /** Capabilities are over what belongs to its users: its network, not the host's clock. */
  @Test
  void capabilitiesReachAsFarAsItsOwnNamespaces() throws Exception {
    SecuritySpec security =
        own(
            List.of("NET_ADMIN", "SYS_MODULE", "SYS_ADMIN", "MKNOD"),
            new SecuritySpec.Seccomp.Unconfined(),
            true);
    String script =
        "ip link set lo mtu 1400 && echo link; mkdir -p /mnt; mount -t tmpfs x /mnt && echo mount;"
            + " mknod /n b 8 0 2>/dev/null || echo no device; cat /proc/sys/net/core/somaxconn;"
            + " echo 1 2>/dev/null > /proc/sys/kernel/panic || echo no setting";
    assertThat(fixture.output(spec(script).withSecurity(security)))
        .isEqualTo("link\nmount\nno device\n77\nno setting");
  }

  @Test
  void theNetworkIsAsEver() throws Exception {
    ContainerSpec server = spec("echo hello | nc -l -p 80").withNetwork(NetworkSpec.DEFAULT);
    String client = "until nc -w 20 %s 80; do sleep 0.05; done"; // it may not listen yet
    Container container = running(server);
    try {
      String ip = container.ip().orElseThrow().getHostAddress();
      assertThat(Runs.exec(container, "ls", "/sys/class/net")).isEqualTo("eth0\nlo");
      assertThat(Runs.exec(container, "ip", "-4", "-o", "addr", "show", "eth0")).contains(ip);
      assertThat(Runs.exec(container, "ping", "-c", "1", "-W", "5", ip))
          .contains(" 0% packet loss");
      assertThat(fixture.output(spec(client.formatted(ip)).withNetwork(server.network())))
          .isEqualTo("hello");
    } finally {
      container.remove(true);
    }
  }

  @Test
  void copiesHaveTheOwnersThatTheContainerSees() throws Exception {
    Container container = running(spec("echo x > /new; chown 1000:5 /new; mv /new /f; sleep 300"));
    try {
      Awaitility.await()
          .atMost(Duration.ofSeconds(60))
          .until(() -> Runs.exec(container, "ls", "/").contains("f\n"));
      var files = (Archivable) container;
      for (boolean runs : List.of(true, false)) {
        if (!runs) {
          container.kill(Signal.KILL);
          Runs.end(container);
        }
        assertThat(owners(files, "/f")).containsExactly("1000:5");
        assertThat(owners(files, "/data/first")).containsExactly("1000:1000");
        String name = "in-" + runs;
        files.copyIn(
            "/",
            new ByteArrayInputStream(
                TarWriter.archive(
                    List.of(
                        TarEntry.file(name + "/deep/user", new byte[] {1}).withOwner(1000, 1001),
                        TarEntry.file(name + "/root", new byte[] {1})))));
        assertThat(owners(files, "/" + name + "/deep/user")).containsExactly("1000:1001");
        assertThat(owners(files, "/" + name + "/root")).containsExactly("0:0");
        assertThatThrownBy(
                () ->
                    files.copyIn(
                        "/",
                        new ByteArrayInputStream(
                            TarWriter.archive(
                                List.of(
                                    TarEntry.file("far", new byte[] {1}).withOwner(70000, 0))))))
            .isInstanceOf(AgentException.InvalidSpec.class)
            .hasMessageContaining("owner 70000");
      }
      container.start();
      assertThat(
              Runs.exec(
                  container,
                  "stat",
                  "-c",
                  "%u:%g",
                  "/in-true",
                  "/in-true/deep",
                  "/in-true/deep/user",
                  "/in-false/deep/user",
                  "/in-false/root"))
          .isEqualTo("0:0\n0:0\n1000:1001\n1000:1001\n0:0");
      assertThat(files.changes())
          .contains(
              new FileChange("/f", FileChange.Kind.ADDED),
              new FileChange("/in-true/deep/user", FileChange.Kind.ADDED));
    } finally {
      container.remove(true);
    }
  }

  @Test
  void whatTheContainerRemovedIsMadeAgainAsItsOwn() throws Exception {
    var volume = new Mount.Named("again", "/mnt/deep/target", false);
    Container container = running(spec("sleep 300").withFileSystem(FileSystemSpec.of(volume)));
    try {
      container.kill(Signal.KILL);
      Runs.end(container);
      Path root = fixture.dirs.userMounts().resolve(container.id().runtimeName()).resolve("root");
      Files.delete(root.resolve("mnt/deep/target"));
      Files.delete(root.resolve("mnt/deep"));
      container.start();
      assertThat(Runs.exec(container, "stat", "-c", "%u:%a", "/mnt", "/mnt/deep"))
          .isEqualTo("0:755\n0:755");
    } finally {
      container.remove(true);
    }
  }

  @Test
  void containersThatShareNamespacesShareUsers() throws Exception {
    Container owner = running(spec("sleep 300"));
    try {
      var shared = new NetworkSpec.Mode.Shared(owner.id());
      ContainerSpec beside =
          RuntimeFixture.script("readlink /proc/self/ns/user; readlink /proc/self/ns/net")
              .withNetwork(NetworkSpec.of(shared));
      String ours = Files.readSymbolicLink(Path.of("/proc", pid(owner), "ns/user")).toString();
      assertThat(fixture.output(beside)).startsWith(ours);
      assertThatThrownBy(
              () -> fixture.output(beside.withSecurity(SecuritySpec.DEFAULT.withUsers(Users.HOST))))
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessageContaining("has users of its own");
    } finally {
      owner.remove(true);
    }
  }

  @Test
  void filesOfTheAgentAreReadable() throws Exception {
    Path memory = fixture.dirs.secretFiles();
    Mounts.tmpfs(memory, "mode=0700");
    try {
      Path file = Files.writeString(memory.resolve("password"), "s3cret");
      Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("r--------"));
      var spec =
          spec("cat /run/secrets/p; stat -c ' %u %a' /run/secrets/p; umount /run/secrets/p")
              .withFileSystem(FileSystemSpec.of(new Mount.Bind(file, "/run/secrets/p", true)));
      assertThat(fixture.output(spec)).startsWith("s3cret 0 400");
      System.setProperty(BindMount.REFUSED_FOR_TMPFS_PROPERTY, "true"); // as before kernel 6.3
      assertThat(fixture.output(spec)).startsWith("s3cret 0 400");
    } finally {
      System.clearProperty(BindMount.REFUSED_FOR_TMPFS_PROPERTY);
      Mounts.detach(memory);
    }
  }

  @Test
  void kernelsBefore65HaveThemToo() throws Exception {
    System.setProperty("zlayer.overlay.classic", "true");
    try {
      Container container = running(spec("chown 1000 /bin/euid; echo x > /made; sleep 300"));
      try {
        long first = first(container);
        Path root = Path.of("/proc", pid(container), "root");
        Awaitility.await()
            .atMost(RuntimeFixture.TIMEOUT)
            .untilAsserted(() -> assertThat(root.resolve("made")).hasContent("x\n"));
        assertThat(owner(root.resolve("made"))).isEqualTo(first);
        assertThat(owner(root.resolve("bin/euid"))).isEqualTo(first + 1000);
        assertThat(owner(root.resolve("data/first"))).isEqualTo(first + 1000);
        assertThat(Mounts.list())
            .filteredOn(mount -> mount.target().startsWith(directory))
            .as("no layer is attached any more")
            .noneMatch(mount -> mount.target().toString().contains("/layers"));
      } finally {
        container.remove(true);
      }
    } finally {
      System.clearProperty("zlayer.overlay.classic");
    }
  }

  @Test
  void aKernelWithoutIdmappedMountsIsNamedAsTheReason() throws Exception {
    System.setProperty(BindMount.REFUSED_PROPERTY, "true");
    try {
      assertThatThrownBy(() -> fixture.output(spec("true")))
          .isInstanceOf(AgentException.Unsupported.class)
          .hasMessageContaining("no idmapped mounts")
          .hasMessageContaining("userns_mode: host");
      assertThat(fixture.output(RuntimeFixture.script("echo made"))).isEqualTo("made");
    } finally {
      System.clearProperty(BindMount.REFUSED_PROPERTY);
    }
  }

  @Test
  void namespacesOfTheHostExcludeThem() {
    assertThatThrownBy(
            () ->
                fixture.output(
                    spec("true").withNetwork(NetworkSpec.of(new NetworkSpec.Mode.Host()))))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessage(
            "the network of the host cannot be combined with users of its own, which userns_mode"
                + " 'private' asks for; use userns_mode 'host'");
  }

  private static SecuritySpec own(
      List<String> added, SecuritySpec.Seccomp seccomp, boolean noNewPrivileges) {
    return new SecuritySpec(
            added,
            List.of(),
            seccomp,
            noNewPrivileges,
            false,
            OWN.pid(),
            OWN.ipc(),
            Map.of("net.core.somaxconn", "77"),
            List.of())
        .withUsers(Users.PRIVATE);
  }

  private Container running(ContainerSpec spec) throws InterruptedException {
    Container container = fixture.runtime.create(RuntimeFixture.id(), spec);
    container.start();
    return container;
  }

  private static String pid(Container container) {
    return Long.toString(container.pid().orElseThrow());
  }

  /** From the kernel, which has the last word. */
  static long first(Container container) throws Exception {
    List<String> lines = Files.readAllLines(Path.of("/proc", pid(container), "uid_map"));
    assertThat(lines).hasSize(1);
    assertThat(Files.readAllLines(Path.of("/proc", pid(container), "gid_map"))).isEqualTo(lines);
    String[] words = lines.getFirst().strip().split(" +", -1);
    assertThat(words[0]).isEqualTo("0");
    assertThat(words[2]).isEqualTo("65536");
    return Long.parseLong(words[1]);
  }

  private static long owner(Path path) throws Exception {
    return ((Number) Files.getAttribute(path, "unix:uid")).longValue();
  }

  private static List<String> owners(Archivable files, String path) throws Exception {
    var tar = new ByteArrayOutputStream();
    files.copyOut(path, tar);
    var reader = new TarReader(new ByteArrayInputStream(tar.toByteArray()));
    TarMember member = reader.next().orElseThrow();
    return List.of(member.user() + ":" + member.group());
  }
}
