package dev.zlayer.host.linux;

import java.lang.foreign.MemorySegment;

/**
 * System calls by number, on both machines we run on. Going to the kernel directly gives semantics
 * that do not depend on the C library.
 */
enum Syscall {
  READ(0, 63),
  WRITE(1, 64),
  CLOSE(3, 57),
  LSEEK(8, 62),
  IOCTL(16, 29),
  PREAD64(17, 67),
  PWRITE64(18, 68),
  WAIT4(61, 260),
  FCNTL(72, 25),
  FTRUNCATE(77, 46),
  FCHMOD(91, 52),
  FCHOWN(93, 55),
  STATFS(137, 43),
  FSTATFS(138, 44),
  MOUNT(165, 40),
  UMOUNT2(166, 39),
  SETXATTR(188, 5),
  GETXATTR(191, 8),
  LISTXATTR(194, 11),
  GETDENTS64(217, 61),
  INOTIFY_ADD_WATCH(254, 27),
  OPENAT(257, 56),
  MKDIRAT(258, 34),
  MKNODAT(259, 33),
  FCHOWNAT(260, 54),
  UNLINKAT(263, 35),
  LINKAT(265, 37),
  SYMLINKAT(266, 36),
  READLINKAT(267, 78),
  FCHMODAT(268, 53),
  UTIMENSAT(280, 88),
  DUP3(292, 24),
  PIPE2(293, 59),
  INOTIFY_INIT1(294, 26),
  SYNCFS(306, 267),
  RENAMEAT2(316, 276),
  MEMFD_CREATE(319, 279),
  STATX(332, 291),
  PIDFD_SEND_SIGNAL(424, 424),
  OPEN_TREE(428, 428),
  MOVE_MOUNT(429, 429),
  FSOPEN(430, 430),
  FSCONFIG(431, 431),
  FSMOUNT(432, 432),
  PIDFD_OPEN(434, 434),
  OPENAT2(437, 437),
  MOUNT_SETATTR(442, 442);

  private static final boolean ARM = machineIsArm();
  private static final Libc.Function SYSCALL = Libc.bind("syscall");

  /** Flags of open whose numbers differ between the machines. */
  static final int O_DIRECTORY = ARM ? 0x4000 : 0x10000;

  static final int O_NOFOLLOW = ARM ? 0x8000 : 0x20000;

  private final int x86;
  private final int arm;

  Syscall(int x86, int arm) {
    this.x86 = x86;
    this.arm = arm;
  }

  /** The kernel's answer, -1 for a failure whose number is then in {@code errno}. */
  long invoke(MemorySegment errno, long a, long b, long c, long d, long e, long f) {
    return SYSCALL.invoke(errno, ARM ? arm : x86, a, b, c, d, e, f);
  }

  private static boolean machineIsArm() {
    String machine = Machine.architecture();
    return switch (machine) {
      case "x86_64" -> false;
      case "aarch64" -> true;
      default ->
          throw new UnsupportedOperationException(
              "system calls of " + machine + " are not known: use x86_64 or aarch64");
    };
  }
}
