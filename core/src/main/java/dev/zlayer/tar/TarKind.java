package dev.zlayer.tar;

/** What a member of an archive is. */
public enum TarKind {
  FILE,
  HARD_LINK,
  SYMLINK,
  CHARACTER_DEVICE,
  BLOCK_DEVICE,
  DIRECTORY,
  FIFO;

  /** Whether content follows the header; sizes that others claim mean nothing. */
  boolean hasContent() {
    return this == FILE;
  }
}
