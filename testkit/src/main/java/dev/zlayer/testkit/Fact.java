package dev.zlayer.testkit;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Something a test may need of the machine it runs on. Each is looked at once. */
public enum Fact {
  ROOT("run as root"),
  /** Tried with a real mount in a mount namespace of its own. */
  OVERLAYFS("a kernel that mounts overlayfs, and root"),
  RUNC("install runc"),
  CRUN("install crun"),
  /** What the system property {@code zlayer.view} names; without it the host as it is. */
  VIEW("root and unshare, and for the view crun the program crun: see tools/host-view"),
  /** Whichever version holds them. */
  CGROUP_LIMITS("control groups with the controllers memory, cpu, cpuset and pids"),
  /** What crun needs to give a terminal its size before the program asks for it. */
  REAL_TIME("root, and a kernel that grants real-time priorities in this control group"),
  CONMON("install conmon"),
  CNI("install containernetworking-plugins"),
  DOCKERD("install docker.io"),
  /** Compose 2, which this Debian does not have. */
  COMPOSE("run ./verify, which fetches docker-compose (tools/packages.sh)"),
  LATER_ETCD("run ./verify, which fetches a later etcd (tools/packages.sh)"),
  ROOTLESS("install uidmap and passt"),
  GCC("install gcc and libc6-dev"),
  MAVEN("install maven"),
  DOCKER_REGISTRY("install docker-registry"),
  SKOPEO("install skopeo"),
  BUILDAH("install buildah"),
  UMOCI("install umoci"),
  BUSYBOX("install busybox-static"),
  HTPASSWD("install apache2-utils"),
  OPENSSL("install openssl"),
  HAPROXY("install haproxy"),
  CURL("install curl"),
  WRK("install wrk"),
  PEBBLE("install pebble"),
  H2LOAD("install nghttp2-client"),
  /** A real client and a real server. */
  GRPC("install python3-grpcio"),
  ZSTD("install zstd"),
  ZSH("install zsh"),
  FISH("install fish"),
  WABT("install wabt"),
  /** A real browser, and what drives it. */
  CHROMIUM("install chromium and nodejs"),
  WASI_CLANG("install clang, lld, wasi-libc and libclang-rt-dev-wasm32");

  private static final Path GROUPS = Path.of("/sys/fs/cgroup");
  private static final Duration TIMEOUT = Duration.ofSeconds(20);
  private static final List<String> PROGRAM_DIRECTORIES =
      List.of("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin");
  private static final String OVERLAY_TRIAL =
      """
      d=$(mktemp -d) && mount -t tmpfs tmpfs "$d" && cd "$d" && mkdir lower upper work merged &&
      mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged
      code=$?; cd /; umount -R "$d"; rmdir "$d"; exit $code
      """;
  private static final Map<Fact, Boolean> KNOWN = new EnumMap<>(Fact.class);

  private final String remedy;

  Fact(String remedy) {
    this.remedy = remedy;
  }

  /** Whether it holds here. */
  public boolean holds() {
    synchronized (KNOWN) {
      return KNOWN.computeIfAbsent(this, Fact::look);
    }
  }

  /** What to do to have it. */
  public String remedy() {
    return remedy;
  }

  /** Whether a program is in one of the usual directories. */
  static boolean program(String name) {
    return PROGRAM_DIRECTORIES.stream()
        .anyMatch(directory -> Files.isExecutable(Path.of(directory, name)));
  }

  private boolean look() {
    return switch (this) {
      case ROOT -> output("id", "-u").equals("0");
      case OVERLAYFS -> succeeds("unshare", "--mount", "sh", "-c", OVERLAY_TRIAL);
      case RUNC -> program("runc");
      case CRUN -> program("crun");
      case VIEW -> view();
      case CGROUP_LIMITS ->
          List.of("memory", "cpu", "cpuset", "pids").stream().allMatch(Fact::controller);
      case REAL_TIME -> succeeds("chrt", "--reset-on-fork", "--fifo", "1", "true");
      case CONMON -> program("conmon");
      case CNI ->
          Files.isExecutable(Path.of("/usr/lib/cni/bridge"))
              || Files.isExecutable(Path.of("/opt/cni/bin/bridge"));
      case DOCKERD -> program("dockerd");
      case COMPOSE -> Files.isExecutable(ComposeProgram.path());
      case LATER_ETCD -> Files.isExecutable(LaterEtcd.path());
      case ROOTLESS -> program("newuidmap") && program("pasta");
      case GCC -> program("gcc") && Files.exists(Path.of("/usr/include/errno.h"));
      case MAVEN -> succeeds("sh", "-c", "command -v mvn");
      case DOCKER_REGISTRY -> program("docker-registry");
      case SKOPEO -> program("skopeo");
      case BUILDAH -> program("buildah");
      case UMOCI -> program("umoci");
      case BUSYBOX -> staticBusybox();
      case HTPASSWD -> program("htpasswd");
      case OPENSSL -> program("openssl");
      case HAPROXY -> program("haproxy");
      case CURL -> program("curl");
      case WRK -> program("wrk");
      case PEBBLE -> program("pebble") && program("pebble-challtestsrv");
      case H2LOAD -> program("h2load");
      case GRPC -> Files.isDirectory(Path.of("/usr/lib/python3/dist-packages/grpc"));
      case ZSTD -> program("zstd");
      case ZSH -> program("zsh");
      case FISH -> program("fish");
      case WABT -> program("wat2wasm");
      case CHROMIUM -> program("chromium") && program("node");
      case WASI_CLANG ->
          program("clang")
              && program("wasm-ld")
              && Files.exists(Path.of("/usr/lib/wasm32-wasi/libc.a"));
    };
  }

  private static boolean view() {
    return switch (System.getProperty("zlayer.view", "")) {
      case "crun" ->
          program("crun") && text(GROUPS.resolve("unified/cgroup.controllers")).isEmpty();
      case "cgroup2" -> Files.exists(GROUPS.resolve("cgroup.controllers"));
      default -> true;
    };
  }

  private static boolean controller(String name) {
    return Files.isDirectory(GROUPS.resolve(name))
        || List.of(text(GROUPS.resolve("cgroup.controllers")).split(" ", -1)).contains(name);
  }

  /** Nothing where there is no such file. */
  private static String text(Path file) {
    try {
      return Files.readString(file).strip();
    } catch (IOException _) {
      return "";
    }
  }

  /** A program that names a dynamic loader at its beginning does not run in an image of its own. */
  private static boolean staticBusybox() {
    try (var program = Files.newInputStream(Path.of("/bin/busybox"))) {
      String head = new String(program.readNBytes(4096), StandardCharsets.ISO_8859_1);
      return !head.contains("/ld-");
    } catch (IOException _) {
      return false;
    }
  }

  private static String output(String... arguments) {
    try {
      return Processes.run(Command.of(arguments), Deadline.after(TIMEOUT)).stdout().strip();
    } catch (AgentException.Configuration _) {
      return "";
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
  }

  private static boolean succeeds(String... arguments) {
    try {
      return Processes.run(Command.of(arguments), Deadline.after(TIMEOUT)).success();
    } catch (AgentException.Configuration _) {
      return false;
    } catch (InterruptedException e) {
      throw interrupted(e);
    }
  }

  private static IllegalStateException interrupted(InterruptedException cause) {
    Thread.currentThread().interrupt();
    return new IllegalStateException("interrupted while looking at the machine", cause);
  }
}
