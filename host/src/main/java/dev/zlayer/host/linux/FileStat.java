package dev.zlayer.host.linux;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * What the kernel tells about an inode; {@code permissions} are the twelve bits of chmod.
 *
 * @param major of the device this inode stands for, as {@code minor}; 0 for all but devices
 * @param device what it is stored on; inodes of one device have different numbers
 */
public record FileStat(
    FileKind kind,
    int permissions,
    long user,
    long group,
    long size,
    long modifiedSeconds,
    int modifiedNanos,
    int major,
    int minor,
    long inode,
    int links,
    long blocks,
    long device) {
  private static final long ATTRIBUTE_MOUNT_ROOT = 0x2000;

  /** As in {@code st_mode}: kind and permissions together. */
  public int mode() {
    return kind.bits() | permissions;
  }

  /** Overlayfs says "not here any more" with a character device of number 0/0. */
  public boolean whiteout() {
    return kind == FileKind.CHARACTER_DEVICE && major == 0 && minor == 0;
  }

  /** Reads a struct statx. */
  static FileStat from(MemorySegment statx) {
    int mode = statx.get(ValueLayout.JAVA_SHORT, 28) & 0xFFFF;
    return new FileStat(
        FileKind.ofMode(mode),
        mode & 07777,
        Integer.toUnsignedLong(statx.get(ValueLayout.JAVA_INT, 20)),
        Integer.toUnsignedLong(statx.get(ValueLayout.JAVA_INT, 24)),
        statx.get(ValueLayout.JAVA_LONG, 40),
        statx.get(ValueLayout.JAVA_LONG, 112),
        statx.get(ValueLayout.JAVA_INT, 120),
        statx.get(ValueLayout.JAVA_INT, 128),
        statx.get(ValueLayout.JAVA_INT, 132),
        statx.get(ValueLayout.JAVA_LONG, 32),
        statx.get(ValueLayout.JAVA_INT, 16),
        statx.get(ValueLayout.JAVA_LONG, 48),
        (long) statx.get(ValueLayout.JAVA_INT, 136) << 32
            | Integer.toUnsignedLong(statx.get(ValueLayout.JAVA_INT, 140)));
  }

  /** Whether a struct statx is of the root of a mount. */
  static boolean isMountPoint(MemorySegment statx) {
    return (statx.get(ValueLayout.JAVA_LONG, 8) & ATTRIBUTE_MOUNT_ROOT) != 0;
  }
}
