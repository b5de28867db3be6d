package dev.zlayer.host.linux;

/** What an inode is. */
public enum FileKind {
  FIFO(0x1000),
  CHARACTER_DEVICE(0x2000),
  DIRECTORY(0x4000),
  BLOCK_DEVICE(0x6000),
  FILE(0x8000),
  SYMLINK(0xA000),
  SOCKET(0xC000);

  private static final int MASK = 0xF000;

  private final int bits;

  FileKind(int bits) {
    this.bits = bits;
  }

  /** The bits that stand for it in a mode. */
  int bits() {
    return bits;
  }

  static FileKind ofMode(int mode) {
    for (FileKind kind : values()) {
      if (kind.bits == (mode & MASK)) {
        return kind;
      }
    }
    throw new IllegalArgumentException("mode 0%o has no known file type".formatted(mode));
  }
}
