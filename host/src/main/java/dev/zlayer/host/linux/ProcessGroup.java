package dev.zlayer.host.linux;

import java.io.IOException;
import java.util.List;

/** The processes of a container, and what they use together. */
public interface ProcessGroup {
  /**
   * What they use now.
   *
   * @throws java.nio.file.NoSuchFileException there are none any more
   */
  CgroupUsage usage() throws IOException;

  /** In ascending order. */
  List<Long> processes() throws IOException;
}
