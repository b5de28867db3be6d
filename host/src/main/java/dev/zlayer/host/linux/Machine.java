package dev.zlayer.host.linux;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** What the kernel tells about itself and the machine. */
public final class Machine {
  private static final Path PROC = Path.of("/proc");
  private static final Path PROCESSORS = Path.of("/sys/devices/system/cpu");

  /** {@code struct utsname}: six texts of this length, the machine is the fifth. */
  private static final int NAME_LENGTH = 65;

  private static final Libc.Function UNAME = Libc.bind("uname");

  private Machine() {}

  /** The kernel's release, such as {@code 6.1.0-18-amd64}. */
  public static String kernel() {
    return lines("sys/kernel/osrelease").getFirst().strip();
  }

  /** The name of this machine. */
  public static String hostname() {
    return lines("sys/kernel/hostname").getFirst().strip();
  }

  /** The processor as the kernel names it, such as {@code x86_64}. */
  public static String architecture() {
    try (var call = Libc.call()) {
      MemorySegment names = call.allocate(6L * NAME_LENGTH);
      call.check(UNAME.call(call, names.address()), "uname");
      return names.getString(4L * NAME_LENGTH);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public static CgroupMode cgroupMode() {
    return CgroupMounts.parse(lines("self/mountinfo")).mode();
  }

  public static long memoryBytes() {
    return memoryBytes(lines("meminfo"));
  }

  /** The numbers of the nodes that have memory, as {@code 0-1}. */
  public static String memoryNodes() {
    try {
      return Files.readString(Path.of("/sys/devices/system/node/online")).strip();
    } catch (IOException _) {
      return "0"; // a kernel that knows of one only
    }
  }

  /** Where processors tell how hot they are, which tells others what runs here. */
  public static List<String> thermalThrottles() {
    return thermalThrottles(PROCESSORS);
  }

  static List<String> thermalThrottles(Path processors) {
    List<String> found = new ArrayList<>();
    try (var entries = Files.newDirectoryStream(processors, "cpu[0-9]*")) {
      for (Path processor : entries) {
        Path throttle = processor.resolve("thermal_throttle");
        if (Files.isDirectory(throttle)) {
          found.add(throttle.toString());
        }
      }
    } catch (IOException _) {
      return List.of(); // no such processors
    }
    return found.stream().sorted().toList();
  }

  /** Whether packets from one network to another pass this machine. */
  public static boolean forwardsIpv4() {
    return lines("sys/net/ipv4/ip_forward").getFirst().strip().equals("1");
  }

  /** Whether this process may do what containers need. */
  public static boolean root() {
    return effectiveUser(lines("self/status")) == 0;
  }

  /** Whether the kernel has a file system of this type, or a module that it loads when needed. */
  public static boolean knowsFileSystem(String type) {
    boolean loaded =
        lines("filesystems").stream()
            .anyMatch(line -> line.substring(line.indexOf('\t') + 1).equals(type));
    return loaded || hasModule(Path.of("/lib/modules", kernel(), "modules.dep"), type);
  }

  /** Whether a list of modules as depmod writes it names this one. */
  static boolean hasModule(Path list, String module) {
    try (var names = Files.lines(list)) {
      String file = "/" + module + ".ko";
      return names
          .map(line -> line.substring(0, Math.max(0, line.indexOf(':'))))
          .anyMatch(path -> path.endsWith(file) || path.contains(file + "."));
    } catch (IOException _) {
      return false; // a kernel without modules has no such list
    }
  }

  static long memoryBytes(List<String> memInfo) {
    return memInfo.stream()
        .filter(line -> line.startsWith("MemTotal:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) * 1024)
        .findFirst()
        .orElse(0);
  }

  static long effectiveUser(List<String> status) {
    return status.stream()
        .filter(line -> line.startsWith("Uid:"))
        .mapToLong(line -> Long.parseLong(List.of(line.split("\\s+", -1)).get(2)))
        .findFirst()
        .orElse(-1);
  }

  private static List<String> lines(String file) {
    try {
      return Files.readAllLines(PROC.resolve(file));
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + file, e);
    }
  }
}
