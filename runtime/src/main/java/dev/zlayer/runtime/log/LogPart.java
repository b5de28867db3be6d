package dev.zlayer.runtime.log;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * A generation that is open for reading, so that it can be read to its end even when it is rotated
 * out meanwhile.
 *
 * @param size how much was there when it was opened
 * @param afterGap output between the generation before and this one may have been dropped
 */
record LogPart(LogFiles.Generation generation, FileChannel channel, long size, boolean afterGap)
    implements AutoCloseable {
  /** A place between two lines; {@code part} is an index into a list of parts. */
  record Position(int part, long offset) {
    boolean before(Position other) {
      return part < other.part || (part == other.part && offset < other.offset);
    }
  }

  /**
   * @param before the number of the generation that was read before it; 0 when it is the first
   */
  static LogPart open(LogFiles.Generation generation, long before) throws IOException {
    FileChannel channel = FileChannel.open(generation.path(), StandardOpenOption.READ);
    return new LogPart(generation, channel, channel.size(), generation.number() != before + 1);
  }

  /** Opens what is there now, oldest first; those deleted meanwhile are left out. */
  static List<LogPart> openAll(LogFiles files) throws IOException {
    return files.unchanged(() -> openEach(files));
  }

  private static List<LogPart> openEach(LogFiles files) throws IOException {
    var parts = new ArrayList<LogPart>();
    long before = 0;
    for (LogFiles.Generation generation : files.readable()) {
      try {
        parts.add(open(generation, before));
        before = generation.number();
      } catch (NoSuchFileException _) {
        // rotated out
      }
    }
    return parts;
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException _) {
      // it was only read from
    }
  }
}
