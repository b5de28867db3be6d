package dev.zlayer.container;

import dev.zlayer.json.StoredName;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** One mount; targets are absolute paths inside the container, resolved within its root. */
public sealed interface Mount {
  String target();

  /**
   * A file or directory of the host, with everything mounted below it; it has to exist.
   *
   * @param propagation recursively private when absent
   */
  @StoredName("Bind")
  record Bind(Path source, String target, boolean readOnly, Optional<Propagation> propagation)
      implements Mount {
    public Bind(Path source, String target, boolean readOnly) {
      this(source, target, readOnly, Optional.empty());
    }
  }

  /**
   * What later mounts below a bind do on the other side: nothing, appear on both sides, or appear
   * inside only; those with an R hold for the mounts below, too.
   */
  enum Propagation {
    PRIVATE,
    RPRIVATE,
    SHARED,
    RSHARED,
    SLAVE,
    RSLAVE;

    /** As mount(8) has it. */
    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }

    public boolean isShared() {
      return this == SHARED || this == RSHARED;
    }

    public boolean isPrivate() {
      return this == PRIVATE || this == RPRIVATE;
    }
  }

  /**
   * A volume kept by name beyond the container's life. When it is new and empty it is filled with
   * what the image has at the target, owner and mode included.
   *
   * @param subpath what of it is mounted, a file or directory that has to exist; all when absent
   */
  @StoredName("Named")
  record Named(String name, String target, boolean readOnly, Optional<String> subpath)
      implements Mount {
    public Named(String name, String target, boolean readOnly) {
      this(name, target, readOnly, Optional.empty());
    }
  }

  /** A volume that is removed with its container; filled like a named one. */
  @StoredName("Anonymous")
  record Anonymous(String target) implements Mount {}

  /**
   * A volume that is removed with its container and begins empty, whatever the image has there: it
   * is filled from outside before the start, also when the container can only read it.
   */
  @StoredName("Supplied")
  record Supplied(String target, boolean readOnly) implements Mount {}

  /** Memory; size and mode as given, else the kernel's defaults. */
  @StoredName("Tmpfs")
  record Tmpfs(String target, OptionalLong sizeBytes, OptionalInt mode) implements Mount {}
}
