package dev.zlayer.runtime.composite;

import dev.zlayer.container.ContainerId;
import java.util.List;

/** Keeps {@link DispatchRecord}s across restarts. A change is durable when the call returns. */
public interface DispatchRecords {
  /** What was kept, without what cannot be read any more. */
  List<DispatchRecord> load();

  void save(DispatchRecord record);

  /** Does nothing when there is none. */
  void delete(ContainerId id);
}
