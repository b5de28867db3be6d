package dev.zlayer.container;

/** A path in which a container's file system differs from its image. */
public record FileChange(String path, Kind kind) {
  public enum Kind {
    ADDED,
    MODIFIED,
    DELETED
  }
}
