package dev.zlayer.host.linux;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A directory held by its descriptor. Everything done here names one entry of it by its last
 * component, and no call follows a symbolic link there: nothing can lead anywhere else. The name
 * {@link #SELF} means the directory itself, where metadata is read or set.
 *
 * <p>Names are bytes, one per character (ISO-8859-1). Belongs to the thread of its {@link
 * RootedDirectory} and lives as long as that keeps it.
 */
public final class OpenDirectory {
  public static final String SELF = ".";

  static final int O_CLOEXEC = 0x80000;
  static final int O_PATH = 0x200000;
  static final int AT_SYMLINK_NOFOLLOW = 0x100;
  private static final int CREATE_NEW = 0x1 | 0x40 | 0x80; // O_WRONLY, O_CREAT, O_EXCL
  private static final int O_NONBLOCK = 0x800;
  private static final int AT_FDCWD = -100;

  /** proc, sysfs, cgroup, cgroup2, devpts, mqueue, debugfs, tracefs, securityfs, bpf. */
  private static final Set<Long> KERNEL_FILE_SYSTEMS =
      Set.of(
          0x9fa0L,
          0x62656572L,
          0x27e0ebL,
          0x63677270L,
          0x1cd1L,
          0x19800202L,
          0x64626720L,
          0x74726163L,
          0x73636673L,
          0xcafe4a11L);

  static final int STATX_BASIC_STATS = 0x7ff;
  private static final byte KIND_UNKNOWN = 0;
  private static final byte KIND_DIRECTORY = 4;

  private final KernelCalls kernel;
  private final int descriptor;

  OpenDirectory(KernelCalls kernel, int descriptor) {
    this.kernel = kernel;
    this.descriptor = descriptor;
  }

  int descriptor() {
    return descriptor;
  }

  /** What the entry is, without following it; empty when there is none. */
  public Optional<FileStat> find(String name) throws ErrnoException {
    MemorySegment struct = kernel.struct();
    long result =
        kernel.call(
            Syscall.STATX,
            descriptor,
            kernel.first(component(name)).address(),
            AT_SYMLINK_NOFOLLOW,
            STATX_BASIC_STATS,
            struct.address());
    if (result == 0) {
      return Optional.of(FileStat.from(struct));
    }
    if (kernel.errno() == ErrnoException.ENOENT) {
      return Optional.empty();
    }
    throw kernel.failure("stat", name);
  }

  public FileStat stat(String name) throws ErrnoException {
    return find(name)
        .orElseThrow(
            () -> new ErrnoException("stat " + KernelCalls.readable(name), ErrnoException.ENOENT));
  }

  /** Makes a directory only root can enter, until its permissions are set. */
  public void makeDirectory(String name) throws ErrnoException {
    long place = kernel.first(entry(name)).address();
    check(kernel.call(Syscall.MKDIRAT, descriptor, place, 0700, 0), "make directory", name);
  }

  /** The target is stored as it is; nobody looks where it leads. */
  public void makeSymlink(String name, String target) throws ErrnoException {
    long from = kernel.first(entry(name)).address();
    long to = kernel.second(target).address();
    check(kernel.call(Syscall.SYMLINKAT, to, descriptor, from, 0), "make symbolic link", name);
  }

  /** Gives the inode of {@code otherName} in {@code other}, itself and not what it links to. */
  public void makeLink(String name, OpenDirectory other, String otherName) throws ErrnoException {
    long made = kernel.first(entry(name)).address();
    long existing = kernel.second(entry(otherName)).address();
    long result = kernel.call(Syscall.LINKAT, other.descriptor, existing, descriptor, made, 0);
    check(result, "make hard link", name);
  }

  /** Makes a FIFO or a device of that number. */
  public void makeNode(String name, FileKind kind, int permissions, int major, int minor)
      throws ErrnoException {
    long device = (minor & 0xff) | ((long) (major & 0xfff) << 8) | ((long) (minor & ~0xff) << 12);
    long place = kernel.first(entry(name)).address();
    long result =
        kernel.call(Syscall.MKNODAT, descriptor, place, kind.bits() | permissions, device);
    check(result, "make node", name);
  }

  /** Makes a file that did not exist, readable by root alone until its permissions are set. */
  public OpenFile createFile(String name) throws ErrnoException {
    return new OpenFile(kernel, open(entry(name), CREATE_NEW, 0600, "create file"), name);
  }

  /**
   * Opens a regular file for reading. It is held before it is opened: to open a device that was
   * just put in its place, for example a watchdog, would already do something to the host.
   */
  public OpenFile openFile(String name) throws ErrnoException {
    int held = open(entry(name), O_PATH, 0, "hold");
    try {
      FileKind kind = new OpenFile(kernel, held, name).stat().kind();
      if (kind != FileKind.FILE) {
        throw new ErrnoException("open file " + KernelCalls.readable(name), ErrnoException.ENXIO);
      }
      long place = kernel.first("/proc/self/fd/" + held).address();
      long opened = kernel.call(Syscall.OPENAT, AT_FDCWD, place, O_NONBLOCK | O_CLOEXEC, 0);
      check(opened, "open file", name);
      return new OpenFile(kernel, (int) opened, name);
    } finally {
      kernel.closeDescriptor(held);
    }
  }

  public String readSymlink(String name) throws ErrnoException {
    MemorySegment buffer = kernel.io();
    long place = kernel.first(entry(name)).address();
    long length =
        kernel.call(
            Syscall.READLINKAT, descriptor, place, buffer.address(), KernelCalls.NAME_BYTES);
    check(length, "read symbolic link", name);
    return text(buffer, 0, length);
  }

  public void owner(String name, long user, long group) throws ErrnoException {
    long place = kernel.first(component(name)).address();
    long result =
        kernel.call(Syscall.FCHOWNAT, descriptor, place, user, group, AT_SYMLINK_NOFOLLOW);
    check(result, "change owner of", name);
  }

  /** Not for symbolic links: they have no permissions, and this call would follow them. */
  public void permissions(String name, int permissions) throws ErrnoException {
    long place = kernel.first(component(name)).address();
    long result = kernel.call(Syscall.FCHMODAT, descriptor, place, permissions, 0);
    check(result, "change mode of", name);
  }

  /** Sets the times of access and modification. */
  public void times(String name, FileTimes times) throws ErrnoException {
    MemorySegment struct = times.write(kernel.struct());
    long place = kernel.first(component(name)).address();
    long result =
        kernel.call(Syscall.UTIMENSAT, descriptor, place, struct.address(), AT_SYMLINK_NOFOLLOW);
    check(result, "set times of", name);
  }

  /** Sets an extended attribute, also of devices and symbolic links, without opening them. */
  public void attribute(String name, String attribute, byte[] value) throws ErrnoException {
    int held = open(component(name), O_PATH, 0, "hold");
    try {
      new Attributes(kernel, held, name).set(attribute, value);
    } finally {
      kernel.closeDescriptor(held);
    }
  }

  /** All extended attributes by name. */
  public Map<String, byte[]> attributes(String name) throws ErrnoException {
    int held = open(component(name), O_PATH, 0, "hold");
    try {
      return new Attributes(kernel, held, name).all();
    } finally {
      kernel.closeDescriptor(held);
    }
  }

  /** Removes the entry and, when it is a directory, everything below it. */
  public void remove(String name) throws ErrnoException {
    new TreeRemoval(kernel).remove(descriptor, entry(name));
  }

  /** Something done with each name of a directory. */
  @FunctionalInterface
  public interface Visitor {
    void visit(String name) throws IOException, InterruptedException;
  }

  /** Visits the names in this directory, not {@code .} and {@code ..}, in the kernel's order. */
  public void visit(Visitor visitor) throws IOException, InterruptedException {
    read(
        0,
        listed -> {
          visitor.visit(listed.name());
          return true;
        });
  }

  /** A name in a directory, and where to continue reading for it and whatever follows it. */
  record Listed(String name, boolean maybeDirectory, long place) {}

  /** Something done with each name; false ends the reading. */
  @FunctionalInterface
  interface Reader {
    boolean read(Listed name) throws IOException, InterruptedException;
  }

  /**
   * Reads the names from a place on, 0 for the first. When entries come and go meanwhile, others
   * may be read twice or not at all, as file systems see fit.
   */
  void read(long from, Reader reader) throws IOException, InterruptedException {
    int listed = open(SELF, Syscall.O_DIRECTORY, 0, "list");
    try {
      check(kernel.call(Syscall.LSEEK, listed, from, 0, 0), "list", SELF);
      long place = from;
      while (true) {
        MemorySegment buffer = kernel.listing();
        long length =
            kernel.call(Syscall.GETDENTS64, listed, buffer.address(), KernelCalls.LISTING_BYTES, 0);
        check(length, "list", SELF);
        if (length == 0) {
          return;
        }
        List<Listed> batch = new ArrayList<>();
        place = parse(buffer, length, place, batch);
        for (Listed name : batch) {
          if (!reader.read(name)) {
            return;
          }
        }
      }
    } finally {
      kernel.closeDescriptor(listed);
    }
  }

  /** Returns the place after the last of them. */
  private static long parse(MemorySegment buffer, long length, long from, List<Listed> names) {
    long place = from;
    for (long at = 0; at < length; ) {
      int size = buffer.get(ValueLayout.JAVA_SHORT_UNALIGNED, at + 16) & 0xFFFF;
      byte kind = buffer.get(ValueLayout.JAVA_BYTE, at + 18);
      String name = buffer.getString(at + 19, StandardCharsets.ISO_8859_1);
      if (!name.equals(".") && !name.equals("..")) {
        names.add(new Listed(name, kind == KIND_DIRECTORY || kind == KIND_UNKNOWN, place));
      }
      place = buffer.get(ValueLayout.JAVA_LONG_UNALIGNED, at + 8);
      at += size;
    }
    return place;
  }

  /**
   * Whether this is on a file system in which the kernel shows itself, such as /proc: it has no
   * files that could be copied.
   */
  public boolean kernelFileSystem() throws ErrnoException {
    MemorySegment struct = kernel.struct();
    long result = kernel.call(Syscall.FSTATFS, descriptor, struct.address(), 0, 0);
    check(result, "stat the file system of", SELF);
    return KERNEL_FILE_SYSTEMS.contains(struct.get(ValueLayout.JAVA_LONG, 0));
  }

  /** Opens a directory in this one; the caller closes it with {@link #close}. */
  public OpenDirectory enter(String name) throws ErrnoException {
    return new OpenDirectory(kernel, open(entry(name), O_PATH | Syscall.O_DIRECTORY, 0, "enter"));
  }

  /** Opens the directory above, wherever that is now; to be closed as one that was entered. */
  OpenDirectory parent() throws ErrnoException {
    return new OpenDirectory(kernel, open("..", O_PATH | Syscall.O_DIRECTORY, 0, "enter"));
  }

  /** Only for what {@link #enter} gave. */
  public void close() {
    kernel.closeDescriptor(descriptor);
  }

  /** The next names of a listed directory; none at the end. */
  static List<String> batch(KernelCalls kernel, int listed) throws ErrnoException {
    MemorySegment buffer = kernel.listing();
    while (true) {
      long length =
          kernel.call(Syscall.GETDENTS64, listed, buffer.address(), KernelCalls.LISTING_BYTES, 0);
      if (length < 0) {
        throw kernel.failure("list", "directory");
      }
      if (length == 0) {
        return List.of();
      }
      List<Listed> names = new ArrayList<>();
      parse(buffer, length, 0, names);
      if (!names.isEmpty()) {
        return names.stream().map(Listed::name).toList();
      }
    }
  }

  private int open(String name, int flags, int permissions, String doing) throws ErrnoException {
    long place = kernel.first(name).address();
    long all = flags | O_CLOEXEC | Syscall.O_NOFOLLOW;
    long result = kernel.call(Syscall.OPENAT, descriptor, place, all, permissions);
    check(result, doing, name);
    return (int) result;
  }

  private void check(long result, String doing, String name) throws ErrnoException {
    if (result < 0) {
      throw kernel.failure(doing, name);
    }
  }

  static String text(MemorySegment buffer, long from, long length) {
    byte[] bytes = buffer.asSlice(from, length).toArray(ValueLayout.JAVA_BYTE);
    return new String(bytes, StandardCharsets.ISO_8859_1);
  }

  private static String component(String name) {
    return name.equals(SELF) ? name : entry(name);
  }

  private static String entry(String name) {
    if (name.isEmpty() || name.equals(".") || name.equals("..") || name.indexOf('/') >= 0) {
      throw new IllegalArgumentException(
          "'" + KernelCalls.readable(name) + "' is not the name of a directory entry");
    }
    return name;
  }
}
