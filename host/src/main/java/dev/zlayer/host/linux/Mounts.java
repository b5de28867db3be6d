package dev.zlayer.host.linux;

import dev.zlayer.task.BlockingPool;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/** The mount table of this process' namespace. Safe for many threads: every call stands alone. */
public final class Mounts {
  private static final int AT_FDCWD = -100;
  private static final int UMOUNT_NOFOLLOW = 8;
  private static final int MNT_DETACH = 2;
  static final long MS_PRIVATE = 1L << 18;
  private static final long MS_NOSUID = 2;
  private static final long MS_NODEV = 4;
  private static final long MS_NOEXEC = 8;

  private static final long STATFS_BYTES = 256; // larger than the structure on any architecture
  private static final long STATFS_FLAGS = 80;
  private static final Map<String, Long> RESTRICTIONS =
      Map.of("ro", 1L, "nosuid", MS_NOSUID, "nodev", MS_NODEV, "noexec", MS_NOEXEC);

  private static final Path TABLE = Path.of("/proc/self/mountinfo");

  private Mounts() {}

  /**
   * One line of the mount table.
   *
   * @param source what is mounted: a device, or a word the file system chose
   * @param options of the file system, separated by commas
   * @param shared whether mounts below it appear in other namespaces too
   * @param slave whether mounts below its origin in another namespace appear here too
   */
  public record MountPoint(
      Path target, String type, String source, String options, boolean shared, boolean slave) {}

  /** All mounts, in the order they were made. */
  public static List<MountPoint> list() throws IOException {
    // a mount point may have any bytes in its name: decode without failing
    return parse(new String(Files.readAllBytes(TABLE), StandardCharsets.UTF_8).lines().toList());
  }

  /** The mount that a file which exists is on. */
  public static MountPoint of(Path path) throws IOException {
    Path real = path.toRealPath();
    return list().reversed().stream()
        .filter(mount -> real.startsWith(mount.target()))
        .max(Comparator.comparingInt(mount -> mount.target().getNameCount()))
        .orElseThrow(() -> new IOException(path + " is on no mount"));
  }

  /** Whether something is mounted exactly there. */
  public static boolean mounted(Path target) throws ErrnoException {
    try (var kernel = new KernelCalls()) {
      String raw = KernelCalls.raw(target.toAbsolutePath());
      MemorySegment struct = kernel.struct();
      long place = kernel.first(raw).address();
      long result =
          kernel.call(
              Syscall.STATX,
              AT_FDCWD,
              place,
              OpenDirectory.AT_SYMLINK_NOFOLLOW,
              0,
              struct.address());
      if (result < 0) {
        if (kernel.errno() == ErrnoException.ENOENT) {
          return false;
        }
        throw kernel.failure("stat", raw);
      }
      return FileStat.isMountPoint(struct);
    }
  }

  /**
   * What must not be done on the file system of a path, as options of mount(8). Whoever mounts it
   * again from within a user namespace has to name them all.
   */
  public static List<String> restrictions(Path path) throws ErrnoException {
    try (var call = Libc.call()) {
      MemorySegment struct = call.allocate(STATFS_BYTES);
      call.check(
          Syscall.STATFS.invoke(
              call.errno(), call.string(path.toString()).address(), struct.address(), 0, 0, 0, 0),
          "inspect the file system of " + path);
      long flags = struct.get(ValueLayout.JAVA_LONG, STATFS_FLAGS);
      List<String> found = new ArrayList<>();
      RESTRICTIONS.forEach(
          (name, flag) -> {
            if ((flags & flag) != 0) {
              found.add(name);
            }
          });
      return found;
    }
  }

  /** Mounts memory with those options of tmpfs(5); nothing in it is run or is a device. */
  public static void tmpfs(Path target, String options) throws ErrnoException {
    try (var call = Libc.call()) {
      String path = target.toAbsolutePath().toString();
      long type = call.string("tmpfs").address();
      call.check(
          Syscall.MOUNT.invoke(
              call.errno(),
              type,
              call.string(path).address(),
              type,
              MS_NOSUID | MS_NODEV | MS_NOEXEC,
              call.string(options).address(),
              0),
          "mount tmpfs on " + path);
    }
  }

  /** Fails with EBUSY while anything in it is used. */
  public static void unmount(Path target) throws ErrnoException {
    unmount(target, UMOUNT_NOFOLLOW);
  }

  /** Takes it out of the tree at once; it ends when its last user does. */
  public static void detach(Path target) throws ErrnoException {
    unmount(target, UMOUNT_NOFOLLOW | MNT_DETACH);
  }

  private static void unmount(Path target, int flags) throws ErrnoException {
    BlockingPool.FILES.complete(() -> unmountNow(target, flags));
  }

  private static boolean unmountNow(Path target, int flags) throws ErrnoException {
    try (var kernel = new KernelCalls()) {
      String raw = KernelCalls.raw(target.toAbsolutePath());
      if (kernel.call(Syscall.UMOUNT2, kernel.first(raw).address(), flags, 0, 0) < 0) {
        throw kernel.failure("unmount", raw);
      }
      return true;
    }
  }

  /** Reads lines of the form documented in proc(5). */
  static List<MountPoint> parse(List<String> lines) {
    return lines.stream()
        .map(
            line -> {
              List<String> words = List.of(line.split(" ", -1));
              int dash = words.indexOf("-");
              List<String> tags = words.subList(6, dash);
              return new MountPoint(
                  Path.of(unescaped(words.get(4))),
                  words.get(dash + 1),
                  unescaped(words.get(dash + 2)),
                  words.get(dash + 3),
                  tags.stream().anyMatch(tag -> tag.startsWith("shared:")),
                  tags.stream().anyMatch(tag -> tag.startsWith("master:")));
            })
        .toList();
  }

  /** The kernel writes blanks, tabs, newlines and backslashes as three octal digits. */
  private static String unescaped(String word) {
    if (word.indexOf('\\') < 0) {
      return word;
    }
    var text = new StringBuilder();
    for (int i = 0; i < word.length(); i++) {
      char c = word.charAt(i);
      if (c == '\\' && i + 3 < word.length()) {
        text.append((char) Integer.parseInt(word.substring(i + 1, i + 4), 8));
        i += 3;
      } else {
        text.append(c);
      }
    }
    return text.toString();
  }
}
