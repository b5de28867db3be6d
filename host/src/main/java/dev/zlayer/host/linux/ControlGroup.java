package dev.zlayer.host.linux;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * One control group in all hierarchies. It holds nothing open; reading a group that is gone throws
 * {@link NoSuchFileException}.
 */
public final class ControlGroup implements ProcessGroup {
  private static final String NONE = "";

  private final Optional<Path> unified;
  private final Map<String, Path> controllers;

  ControlGroup(Optional<Path> unified, Map<String, Path> controllers) {
    this.unified = unified;
    this.controllers = Map.copyOf(controllers);
  }

  @Override
  public CgroupUsage usage() throws IOException {
    if (!Files.isDirectory(directory("memory")) && !Files.isDirectory(directory("pids"))) {
      throw new NoSuchFileException(directory("memory").toString());
    }
    boolean oldMemory = controllers.containsKey("memory");
    String stat = read("memory", "memory.stat");
    String used = read("memory", oldMemory ? "memory.usage_in_bytes" : "memory.current");
    long cache = CgroupText.keyed(stat, oldMemory ? "total_inactive_file" : "inactive_file");
    String kills = read("memory", oldMemory ? "memory.oom_control" : "memory.events");
    return new CgroupUsage(
        cpuNanos(),
        Math.max(0, CgroupText.number(used) - cache),
        limit("memory", oldMemory ? "memory.limit_in_bytes" : "memory.max"),
        pids(),
        limit("pids", "pids.max"),
        blockBytes("Read", "rbytes"),
        blockBytes("Write", "wbytes"),
        CgroupText.keyed(kills, "oom_kill"));
  }

  public boolean exists() throws IOException {
    return Files.isDirectory(directory("memory"));
  }

  /** How often the kernel killed for want of memory; tells an OOM kill from any other. */
  public long outOfMemoryKills() throws IOException {
    boolean old = controllers.containsKey("memory");
    return CgroupText.keyed(
        read("memory", old ? "memory.oom_control" : "memory.events"), "oom_kill");
  }

  /** Also those in groups below it. */
  @Override
  public List<Long> processes() throws IOException {
    var found = new TreeSet<Long>();
    collect(directory(controllers.containsKey("pids") ? "pids" : "cpu"), found);
    return List.copyOf(found);
  }

  /** Where the kernel lists the processes of the group, in the hierarchy it is certainly in. */
  Optional<Path> processesFile() {
    return unified
        .or(() -> controllers.values().stream().findFirst())
        .map(directory -> directory.resolve("cgroup.procs"))
        .filter(Files::isWritable);
  }

  /**
   * Removes the group and those below it from every hierarchy. Absent is fine.
   *
   * @return false when a process is still in it; then the group with that process stays
   */
  public boolean remove() throws IOException {
    var directories = new LinkedHashSet<>(controllers.values());
    unified.ifPresent(directories::add);
    for (Path directory : directories) {
      if (!remove(directory)) {
        return false;
      }
    }
    return true;
  }

  /** The kernel says "busy" for a process in it as well as for a group below it. */
  private static boolean remove(Path group) throws IOException {
    if (removed(group)) {
      return true;
    }
    for (Path child : below(group)) {
      if (!remove(child)) {
        return false;
      }
    }
    return removed(group);
  }

  private static boolean removed(Path group) throws IOException {
    try {
      Files.deleteIfExists(group);
      return true;
    } catch (FileSystemException e) {
      if (Files.isDirectory(group)) {
        return false;
      }
      throw e;
    }
  }

  private static List<Path> below(Path group) throws IOException {
    try (Stream<Path> entries = Files.list(group)) {
      return entries.filter(Files::isDirectory).toList();
    } catch (NoSuchFileException _) {
      return List.of(); // it went by itself
    }
  }

  private static void collect(Path group, Set<Long> into) throws IOException {
    try {
      for (String line : Files.readAllLines(group.resolve("cgroup.procs"))) {
        into.add(Long.parseLong(line));
      }
    } catch (IOException e) {
      throw gone(group, e);
    }
    for (Path child : below(group)) {
      try {
        collect(child, into);
      } catch (NoSuchFileException _) {
        // it ended since it was listed
      }
    }
  }

  /** Counted where no controller does it. */
  private long pids() throws IOException {
    String current = read("pids", "pids.current");
    return current.equals(NONE) ? processes().size() : CgroupText.number(current);
  }

  private long cpuNanos() throws IOException {
    return controllers.containsKey("cpuacct")
        ? CgroupText.number(read("cpuacct", "cpuacct.usage"))
        : CgroupText.keyed(read("cpu", "cpu.stat"), "usage_usec") * 1000;
  }

  private long blockBytes(String oldOperation, String newKey) throws IOException {
    if (!controllers.containsKey("blkio")) {
      return CgroupText.ioBytes(read("io", "io.stat"), newKey);
    }
    return CgroupText.blockBytes(
        read("blkio", "blkio.throttle.io_service_bytes_recursive"), oldOperation);
  }

  /** Where a controller keeps the group: its own hierarchy or else the unified one. */
  private Path directory(String controller) throws IOException {
    Path own = controllers.get(controller);
    if (own != null) {
      return own;
    }
    return unified.orElseThrow(
        () -> new NoSuchFileException("no control group with the controller " + controller));
  }

  /** Its own, or that of the group below it in which crun puts the processes on cgroup v2. */
  private OptionalLong limit(String controller, String file) throws IOException {
    OptionalLong own = CgroupText.limit(read(controller, file));
    return own.isPresent() ? own : CgroupText.limit(read(controller, "container/" + file));
  }

  /** Nothing when this kernel has no such file. */
  private String read(String controller, String file) throws IOException {
    Path group = directory(controller);
    try {
      return Files.readString(group.resolve(file));
    } catch (NoSuchFileException _) {
      return NONE;
    } catch (IOException e) {
      throw gone(group, e);
    }
  }

  /**
   * A file that is open while its group is removed cannot be read any more, which is no fault. The
   * kernel refuses it (ENODEV) a moment before the directory goes.
   */
  private static IOException gone(Path group, IOException failure) {
    boolean refused = "No such device".equals(failure.getMessage());
    return refused || !Files.exists(group) ? new NoSuchFileException(group.toString()) : failure;
  }
}
