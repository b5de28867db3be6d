package dev.zlayer.image.snapshot;

import dev.zlayer.host.linux.IdMapping;
import dev.zlayer.oci.Digest;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The root file system of one container. Calls for one snapshot come from one thread at a time. */
public interface Snapshot {
  String key();

  /** Where the container's root is once {@link #mount} has returned. */
  Path root();

  /** What it was made of, bottom first. */
  List<Digest> layers();

  /** Makes {@link #root} usable; does nothing when it is. After a reboot it is not. */
  default void mount() throws IOException {
    mount(Optional.empty());
  }

  /**
   * The same with owners other than on the disk. A copy is no mount: it shows its owners as they
   * are.
   */
  void mount(Optional<IdMapping> mapping) throws IOException;

  /**
   * Undoes {@link #mount}; what was written stays. Does nothing when it is not mounted.
   *
   * @throws IOException something still uses it; it is mounted as before
   */
  void unmount() throws IOException;

  /**
   * Takes it away with everything written to it. It is either still there as a whole, or gone for
   * everybody before the first file is deleted; what could not be deleted is deleted when the
   * snapshots are opened next.
   *
   * @throws IOException it is still there, or some of its files are; the text says which
   */
  void remove() throws IOException;

  /** Walks everything that was written. */
  SnapshotUsage usage() throws IOException;

  /** Holds what was written over the layers; for a copy that is everything. */
  Path upper();
}
