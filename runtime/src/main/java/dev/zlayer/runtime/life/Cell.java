package dev.zlayer.runtime.life;

import dev.zlayer.host.file.ContainerDir;
import java.io.IOException;
import java.util.Optional;

/** One container of an OCI runtime. */
public final class Cell extends LifeCell<ContainerRecord> {
  public Cell(ContainerDir directory, ContainerRecord record) {
    super(directory, record);
  }

  public static Optional<ContainerRecord> read(ContainerDir directory) throws IOException {
    return load(directory, ContainerRecord.class);
  }
}
