package dev.zlayer.runtime.composite;

import dev.zlayer.container.ContainerId;
import java.util.List;

/** Keeps {@link DispatchRecord}s across restarts. */
public interface DispatchRecords {
  /** What was kept, without what cannot be read any more. */
  List<DispatchRecord> load();

  /**
   * Survives the end of this process. A power failure may lose it, which is found out as usual: its
   * runtime, whose own record is durable when the container is made, has a container that nobody
   * recorded.
   */
  void save(DispatchRecord record);

  /**
   * Does nothing when there is none. A power failure may bring it back, which is found out as
   * usual: its runtime does not have the container.
   */
  void delete(ContainerId id);
}
