package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * A control group of version 2 that an ordinary user was given, as systemd does for scopes with
 * {@code Delegate=yes}.
 *
 * @param parent below which groups can be made
 * @param controllers that work in those
 */
record Delegation(String parent, Set<String> controllers) {
  /** The kernel lets no group have both processes and groups with controllers below it. */
  private static final String OWN = "agent";

  private static final String CONTAINERS = "containers";
  private static final List<String> WANTED = List.of("cpuset", "cpu", "io", "memory", "pids");

  Delegation {
    controllers = Set.copyOf(controllers);
  }

  /**
   * Moves what is in the group that was given into one of its own below that.
   *
   * @param scope the group; where there is none, that of this process, unless it is one that
   *     systemd made for something else
   */
  static Optional<Delegation> find(Optional<String> scope) throws IOException {
    Path root = CgroupSupport.mountPoint();
    if (!Files.exists(root.resolve("cgroup.controllers"))) {
      return Optional.empty();
    }
    String own = own();
    if (scope.isEmpty() && own.contains("/user@")) {
      return Optional.empty();
    }
    String given = scope.orElseGet(() -> given(own));
    Path directory = Path.of(root + given);
    if (!Files.isWritable(directory.resolve("cgroup.subtree_control"))) {
      return Optional.empty();
    }
    Path agent = Files.createDirectories(directory.resolve(OWN));
    for (String process : Files.readAllLines(directory.resolve("cgroup.procs"))) {
      boolean _ = wrote(agent.resolve("cgroup.procs"), process); // it may have ended
    }
    Path containers = Files.createDirectories(directory.resolve(CONTAINERS));
    enable(directory);
    return Optional.of(new Delegation(given + "/" + CONTAINERS, enable(containers)));
  }

  /** The group that this process is in. */
  static String own() throws IOException {
    return ownPath(Files.readAllLines(Path.of("/proc/self/cgroup")));
  }

  /** Moves another process of this user to where the agent is, below a group that was given. */
  static void join(String given, long process) throws IOException {
    Path agent = Files.createDirectories(Path.of(CgroupSupport.mountPoint() + given).resolve(OWN));
    Files.writeString(agent.resolve("cgroup.procs"), Long.toString(process));
  }

  /** The group that was given, by the one this process is in; nothing for the topmost. */
  static String given(String own) {
    String given = own.endsWith("/" + OWN) ? own.substring(0, own.lastIndexOf('/')) : own;
    return given.equals("/") ? "" : given;
  }

  private static boolean wrote(Path file, String text) {
    try {
      Files.writeString(file, text);
      return true;
    } catch (IOException _) {
      return false;
    }
  }

  /** Those that were enabled for the groups below it. */
  private static Set<String> enable(Path group) throws IOException {
    var enabled = new TreeSet<String>();
    String offered = Files.readString(group.resolve("cgroup.controllers")).strip();
    for (String controller : offered.split(" ", -1)) {
      if (WANTED.contains(controller)
          && wrote(group.resolve("cgroup.subtree_control"), "+" + controller)) {
        enabled.add(controller);
      }
    }
    return enabled;
  }

  /** The line of version 2. */
  static String ownPath(List<String> lines) {
    return lines.stream()
        .filter(line -> line.startsWith("0::"))
        .map(line -> line.substring("0::".length()))
        .findFirst()
        .orElse("/");
  }
}
