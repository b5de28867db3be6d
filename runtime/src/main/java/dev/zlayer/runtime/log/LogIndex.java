package dev.zlayer.runtime.log;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.task.LazyLogger;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * Which blocks of a log file cannot contain a text, so that a search need not read them. For each
 * block of whole lines there is a filter with the three-byte sequences of its text, in lower case.
 * It lies beside the log file, is at most a twelfth of its size, and is made and continued by
 * searches: logs that nobody searches cost nothing. One that is damaged or belongs to another file
 * is made anew from the log, which alone is the truth.
 */
final class LogIndex {
  private static final System.Logger LOG = LazyLogger.of(LogIndex.class);

  /** A range of the file without the text. */
  record Skip(long from, long to) {}

  /** At least as long, up to the end of a line of each stream. */
  private static final int BLOCK = 64 << 10;

  private static final int FILTER = 4 << 10;
  private static final int FILTER_BITS = FILTER * Byte.SIZE;
  private static final int MAGIC = 0x7a6c6c69;
  private static final int VERSION = 1;
  private static final int GRAM = 3;

  /** The beginning of the log: its first time stamp distinguishes it from any other. */
  private static final int HEAD = 64;

  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Block(long end, byte[] filter) {}

  private final byte[] head;
  private final List<Block> blocks = new ArrayList<>();

  private LogIndex(byte[] head) {
    this.head = head;
  }

  /**
   * The ranges of a part that a search for a text may leave out. What cannot be kept is not an
   * error: the next search makes it again.
   *
   * @param file where the index is kept
   */
  static List<Skip> skips(LogPart part, Path file, LogQuery.Containing text) throws IOException {
    int[] grams = grams(text);
    if (grams.length == 0 || part.size() < BLOCK) {
      return List.of();
    }
    LogIndex index = read(file, head(part));
    if (index.extend(part.channel(), part.size())) {
      try {
        AtomicFile.writeRelaxed(file, index.bytes());
      } catch (IOException e) {
        LOG.log(System.Logger.Level.DEBUG, "an index of a log is not kept: " + file, e);
      }
    }
    return index.without(grams);
  }

  /** The first block is never left out: it may begin with the rest of a line of the file before. */
  private List<Skip> without(int[] grams) {
    var skips = new ArrayList<Skip>();
    for (int index = 1; index < blocks.size(); index++) {
      byte[] filter = blocks.get(index).filter();
      if (!Arrays.stream(grams).allMatch(gram -> (filter[gram >> 3] & 1 << (gram & 7)) != 0)) {
        long from = blocks.get(index - 1).end();
        long to = blocks.get(index).end();
        if (!skips.isEmpty() && skips.getLast().to() == from) {
          from = skips.removeLast().from();
        }
        skips.add(new Skip(from, to));
      }
    }
    return skips;
  }

  /** Bits of the sequences that a line with the text has in any case. */
  private static int[] grams(LogQuery.Containing text) {
    byte[] bytes = text.text().getBytes(StandardCharsets.UTF_8);
    var bits = new ArrayList<Integer>();
    for (int at = 0; at + GRAM <= bytes.length; at++) {
      // letters beyond ASCII have other bytes in upper case
      if (!text.ignoreCase() || (bytes[at] | bytes[at + 1] | bytes[at + 2]) >= 0) {
        bits.add(bit(lower(bytes[at]) << 16 | lower(bytes[at + 1]) << 8 | lower(bytes[at + 2])));
      }
    }
    return bits.stream().mapToInt(Integer::intValue).distinct().toArray();
  }

  private static int lower(byte letter) {
    return letter >= 'A' && letter <= 'Z' ? letter + 32 : letter & 0xff;
  }

  private static int bit(int gram) {
    int mixed = gram * 0x9e3779b1;
    return (mixed ^ mixed >>> 15) & (FILTER_BITS - 1);
  }

  /** Adds the blocks that are complete by now; false when there is none. */
  private boolean extend(FileChannel channel, long size) throws IOException {
    int known = blocks.size();
    long begin = blocks.isEmpty() ? 0 : blocks.getLast().end();
    if (size - begin < BLOCK) {
      return false;
    }
    var scanner = new LineScanner(channel, begin, size, BLOCK);
    var header = new LineHeader();
    var open = new EnumMap<LogRecord.Stream, Integer>(LogRecord.Stream.class);
    byte[] filter = new byte[FILTER];
    while (scanner.advance()) {
      if (header.parse(scanner.bytes(), scanner.start(), scanner.end())) {
        add(scanner, header, open, filter);
      }
      if (open.isEmpty() && scanner.nextOffset() - begin >= BLOCK) {
        begin = scanner.nextOffset();
        blocks.add(new Block(begin, filter));
        filter = new byte[FILTER];
      }
    }
    return blocks.size() > known;
  }

  /**
   * Also the sequences across the pieces of a line.
   *
   * @param open the last bytes of each line that is not ended, behind a one that marks their number
   */
  private static void add(
      LineScanner line, LineHeader header, Map<LogRecord.Stream, Integer> open, byte[] filter) {
    byte[] bytes = line.bytes();
    int end = line.end();
    int window = open.getOrDefault(header.stream(), 1);
    for (int at = header.text(); at < end; at++) {
      if (window >= 1 << 16) {
        int bit = bit((window & 0xffff) << 8 | lower(bytes[at]));
        filter[bit >> 3] |= (byte) (1 << (bit & 7));
        window = 1 << 16 | (window & 0xff) << 8 | lower(bytes[at]);
      } else {
        window = window << 8 | lower(bytes[at]);
      }
    }
    if (header.full()) {
      open.remove(header.stream());
    } else {
      open.put(header.stream(), window);
    }
  }

  private static byte[] head(LogPart part) throws IOException {
    var head = ByteBuffer.allocate(HEAD);
    while (head.hasRemaining() && part.channel().read(head, head.position()) > 0) {
      // until all of it is read
    }
    return head.array();
  }

  private static LogIndex read(Path file, byte[] head) {
    try {
      byte[] bytes = Files.readAllBytes(file);
      int length = bytes.length - Integer.BYTES;
      if (length > 0 && ByteBuffer.wrap(bytes).getInt(length) == checksum(bytes, length)) {
        var in = new DataInputStream(new ByteArrayInputStream(bytes, 0, length));
        boolean ours = in.readInt() == MAGIC && in.readInt() == VERSION;
        if (ours && Arrays.equals(in.readNBytes(HEAD), head)) {
          var index = new LogIndex(head);
          for (int left = in.readInt(); left > 0; left--) {
            index.blocks.add(new Block(in.readLong(), in.readNBytes(FILTER)));
          }
          return index;
        }
      }
    } catch (IOException _) {
      // there is none, or it is damaged
    }
    return new LogIndex(head);
  }

  private byte[] bytes() throws IOException {
    var bytes = new ByteArrayOutputStream();
    var out = new DataOutputStream(bytes);
    out.writeInt(MAGIC);
    out.writeInt(VERSION);
    out.write(head);
    out.writeInt(blocks.size());
    for (Block block : blocks) {
      out.writeLong(block.end());
      out.write(block.filter());
    }
    out.writeInt(checksum(bytes.toByteArray(), bytes.size()));
    return bytes.toByteArray();
  }

  private static int checksum(byte[] bytes, int length) {
    var sum = new CRC32C();
    sum.update(bytes, 0, length);
    return (int) sum.getValue();
  }
}
