package dev.zlayer.runtime.lifecycle;

import dev.zlayer.host.file.ContainerDir;
import java.io.IOException;
import java.util.Optional;

/** One container of an OCI runtime. */
public final class ContainerState extends RecordedState<ContainerRecord> {
  public ContainerState(ContainerDir directory, ContainerRecord record) {
    super(directory, record);
  }

  public static Optional<ContainerRecord> read(ContainerDir directory) throws IOException {
    return load(directory, ContainerRecord.class);
  }
}
