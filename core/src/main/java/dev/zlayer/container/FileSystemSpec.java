package dev.zlayer.container;

import java.util.List;

/** What is mounted where, and whether the root file system may be written. */
public record FileSystemSpec(List<Mount> mounts, boolean readOnlyRoot) {
  public static final FileSystemSpec DEFAULT = new FileSystemSpec(List.of(), false);

  public FileSystemSpec {
    mounts = List.copyOf(mounts);
  }

  public static FileSystemSpec of(Mount... mounts) {
    return new FileSystemSpec(List.of(mounts), false);
  }
}
