package dev.zlayer.testkit.cluster;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import dev.zlayer.testkit.image.ImageMaker;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A cluster on this machine: agents in network namespaces that a bridge in one more namespace
 * connects. The first three nodes store the state. Nothing of the machine itself is changed, and
 * closing removes everything.
 */
public final class TestCluster implements AutoCloseable {
  /** On every node. */
  public static final String IMAGE = "bb:1";

  private static final List<String> NAMES = List.of("one", "two", "three", "four", "five");
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final String mark =
      "zf" + Integer.toString(36 * 36 + ThreadLocalRandom.current().nextInt(36 * 36 * 35), 36);
  private final Path directory;
  private final List<String> serve;
  private final String settings;
  private final List<TestNode> nodes = new ArrayList<>();
  private final List<Path> disks = new ArrayList<>();

  /**
   * Starts agents, which are in no cluster yet.
   *
   * @param serve the words that start an agent
   * @param ownDisk the last node has its files on a file system of its own
   */
  public TestCluster(Path directory, List<String> serve, int count, boolean ownDisk)
      throws IOException, InterruptedException {
    this(directory, serve, count, ownDisk, "");
  }

  /** The same, with this configuration of each agent. */
  public TestCluster(
      Path directory, List<String> serve, int count, boolean ownDisk, String settings)
      throws IOException, InterruptedException {
    this.directory = directory;
    this.serve = List.copyOf(serve);
    this.settings = settings;
    Host.check("ip", "netns", "add", mark);
    try {
      Host.check("ip", "-n", mark, "link", "add", "switch", "type", "bridge");
      Host.check("ip", "-n", mark, "link", "set", "switch", "up");
      for (int number = 1; number <= count; number++) {
        Path own = Files.createDirectories(directory.resolve("n" + number));
        if (ownDisk && number == count) {
          disk(own);
        }
        nodes.add(machine(number, own));
      }
    } catch (IOException | InterruptedException | RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  private TestNode machine(int number, Path own) throws IOException, InterruptedException {
    String namespace = mark + number;
    String address = "192.0.2." + number;
    Host.check("ip", "netns", "add", namespace);
    Host.check("ip", "-n", namespace, "link", "set", "lo", "up");
    Host.check(
        List.of(
            "ip -n %s link add %s type veth peer eth0 netns %s"
                .formatted(mark, cable(number), namespace)
                .split(" ")));
    Host.check("ip", "-n", mark, "link", "set", cable(number), "master", "switch", "up");
    Host.check("ip", "-n", namespace, "addr", "add", address + "/24", "dev", "eth0");
    Host.check("ip", "-n", namespace, "link", "set", "eth0", "up");
    try {
      return new TestNode(NAMES.get(number - 1), address, namespace, own, serve, settings);
    } catch (IOException | InterruptedException | RuntimeException | Error e) {
      var _ = Host.run("ip", "netns", "del", namespace);
      throw e;
    }
  }

  private void disk(Path own) throws InterruptedException {
    Path image = own.resolveSibling(own.getFileName() + ".img");
    Host.check("truncate", "-s", "640M", image.toString());
    Host.check("mke2fs", "-q", "-t", "ext4", "-m", "0", image.toString());
    Host.check("mount", "-o", "loop", image.toString(), own.toString());
    disks.add(own);
  }

  private static String cable(int number) {
    return "port" + number;
  }

  /** Makes the nodes a cluster, with the image on each of them. */
  public void join() throws InterruptedException {
    byte[] archive = ImageMaker.busybox().make().dockerArchive(IMAGE);
    for (TestNode node : nodes) {
      load(node, archive);
      join(node);
    }
    await(
        "all nodes are ready",
        LIMIT,
        () -> nodes.getFirst().get("/nodes").items().stream().allMatch(TestCluster::ready));
  }

  /** Makes one node a member, or the first one of a cluster. */
  public void join(TestNode node) throws InterruptedException {
    Json.Builder self = Json.object().put("name", node.name()).put("advertise", node.address());
    TestNode first = nodes.getFirst();
    if (node == first) {
      Json _ = node.ok("POST", "/cluster/init", self.build());
      return;
    }
    String token =
        first
            .ok("POST", "/cluster/tokens", Json.object().build())
            .at("token")
            .string()
            .orElseThrow();
    Json _ =
        node.ok(
            "POST",
            "/cluster/join",
            self.put("through", first.address()).put("token", token).build());
  }

  /** Puts the image on a node. */
  public static void load(TestNode node, byte[] archive) throws InterruptedException {
    TestNode.Answer answer =
        node.send(
            HttpRequest.of("POST", "/api/v1/images/load")
                .with("Content-Type", "application/x-tar")
                .withBody(new HttpRequest.Body.Bytes(archive)),
            LIMIT);
    if (!answer.success()) {
      throw new IllegalStateException(answer.text());
    }
  }

  static boolean ready(Json node) {
    return node.at("status").string().filter("ready"::equals).isPresent();
  }

  public List<TestNode> nodes() {
    return List.copyOf(nodes);
  }

  /** Counted from 1. */
  public TestNode node(int number) {
    return nodes.get(number - 1);
  }

  /** Where containers of all nodes write, by {@code type: bind}. */
  public Path shared() throws IOException {
    return Files.createDirectories(directory.resolve("shared"));
  }

  /** Something that has to become so. */
  @FunctionalInterface
  public interface Question {
    boolean holds() throws Exception;
  }

  /** Waits until it holds; what fails meanwhile is no answer. */
  public static void await(String what, Duration limit, Question question)
      throws InterruptedException {
    Deadline deadline = Deadline.after(limit);
    while (!holds(question)) {
      deadline.check("waiting until " + what);
      Pauses.REAL.pause(Duration.ofMillis(100));
    }
  }

  private static boolean holds(Question question) throws InterruptedException {
    try {
      return question.holds();
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception _) {
      return false;
    }
  }

  /** Has it happen to a node; {@link #heal} ends it. */
  public void begin(Fault fault, TestNode node) throws IOException, InterruptedException {
    fault.begin(this, node);
  }

  /**
   * Connects this process with the nodes, under an address of its own. Only from within a network
   * namespace of its own: there it stays.
   */
  public void attach() throws InterruptedException {
    String own = mark + "h";
    Host.check(
        List.of("ip link add %s type veth peer uplink netns %s".formatted(own, mark).split(" ")));
    Host.check("ip", "-n", mark, "link", "set", "uplink", "master", "switch", "up");
    Host.check("ip", "addr", "add", "192.0.2.250/24", "dev", own);
    Host.check("ip", "link", "set", own, "up");
  }

  /** Pulls the cable of a node, or plugs it in again. */
  void cable(TestNode node, boolean plugged) throws InterruptedException {
    String port = cable(nodes.indexOf(node) + 1);
    Host.check("ip", "-n", mark, "link", "set", port, plugged ? "up" : "down");
  }

  /**
   * Drops packets of a node, in the words of nft.
   *
   * @param hook input or output
   */
  void drop(TestNode node, String hook, String packets) throws InterruptedException {
    String chain = "{ type filter hook %s priority -300 ; }".formatted(hook);
    nft(node, "add table inet faults");
    nft(node, "add chain inet faults %s %s".formatted(hook, chain));
    nft(node, "add rule inet faults %s %s drop".formatted(hook, packets));
  }

  /** Ends what {@link #drop} began. */
  void pass(TestNode node) throws InterruptedException {
    var _ = node.program("nft", "delete", "table", "inet", "faults");
  }

  private static void nft(TestNode node, String words) throws InterruptedException {
    var result = node.program("nft", words);
    if (!result.success()) {
      throw new IllegalStateException(words + ": " + result.stderr());
    }
  }

  /** Whether the node has its files on a file system of its own. */
  boolean ownDisk(TestNode node) {
    return disks.contains(node.directory());
  }

  /** Whoever writes to the files of the node waits, until it is melted. */
  void freeze(TestNode node) throws InterruptedException {
    Host.check("fsfreeze", "--freeze", node.directory().toString());
  }

  void melt(TestNode node) throws InterruptedException {
    var _ = Host.run("fsfreeze", "--unfreeze", node.directory().toString());
  }

  /** Leaves no room on the file system of the node. */
  void fill(TestNode node) throws InterruptedException {
    // ends with an error when nothing is left
    var _ = Host.run("dd", "if=/dev/zero", "of=" + filler(node), "bs=1M", "conv=notrunc");
  }

  void empty(TestNode node) throws IOException {
    Files.deleteIfExists(filler(node));
  }

  private static Path filler(TestNode node) {
    return node.directory().resolve("filler");
  }

  /** Ends all faults; agents that were killed do not run yet. */
  public void heal() throws IOException, InterruptedException {
    for (TestNode node : nodes) {
      if (ownDisk(node)) {
        melt(node);
        empty(node);
      }
      node.signalAgent("CONT");
      node.signalEtcd("CONT");
      pass(node);
      cable(node, true);
    }
  }

  @Override
  public void close() {
    try {
      heal();
      for (TestNode node : nodes) {
        remove(node);
      }
      for (TestNode node : nodes) {
        removeMachine(node);
      }
      var _ = Host.run("ip", "netns", "del", mark);
      unmount();
      RootedDirectory.removeTree(directory);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  /** What runs on it ends, and its etcd; whatever fails, what is left is killed. */
  private static void remove(TestNode node) throws InterruptedException {
    try {
      node.startAgent();
      var _ = node.ask("POST", "/cluster/leave", Json.object().put("force", true).build(), LIMIT);
      for (Json deployment : node.get("/deployments?local=true").items()) {
        String name = deployment.at("name").string().orElseThrow();
        var _ = node.ask("DELETE", "/deployments/" + name + "?wait=30s", Json.Null.INSTANCE, LIMIT);
      }
      for (Json container : node.get("/containers?all=true&local=true").items()) {
        String id = container.at("id").string().orElseThrow();
        var _ = node.ask("DELETE", "/containers/" + id + "?force=true", Json.Null.INSTANCE, LIMIT);
      }
    } catch (AgentException | IllegalStateException | IOException e) {
      System.err.println("node '%s' is removed by force: %s".formatted(node.name(), e));
    }
  }

  private static void removeMachine(TestNode node) throws InterruptedException {
    node.endAgent();
    for (int i = 0; i < 10; i++) {
      List<String> pids =
          Host.run("ip", "netns", "pids", node.namespace()).stdout().lines().toList();
      if (pids.isEmpty()) {
        break;
      }
      for (String pid : pids) {
        ProcessHandle.of(Long.parseLong(pid.strip())).ifPresent(TestCluster::kill);
      }
      Pauses.REAL.pause(Duration.ofMillis(100));
    }
    var _ = Host.run("ip", "netns", "del", node.namespace());
  }

  /** With its children: containers are those of monitors, in networks of their own. */
  private static void kill(ProcessHandle process) {
    List<ProcessHandle> children = process.children().toList();
    process.destroyForcibly();
    children.forEach(ProcessHandle::destroyForcibly);
  }

  /** Whatever is mounted below the directory, what is mounted last first. */
  private void unmount() throws IOException, InterruptedException {
    List<String> mounted =
        Files.readAllLines(Path.of("/proc/self/mounts")).stream()
            .map(line -> line.split(" ", 3)[1])
            .filter(path -> path.startsWith(directory + "/"))
            .toList();
    for (String path : mounted.reversed()) {
      if (!Host.run("umount", path).success()) {
        var _ = Host.run("umount", "--lazy", path);
      }
    }
  }
}
