package dev.zlayer.tar;

import dev.zlayer.tar.TarMember.TarTime;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Reads an archive member by member. {@link #next} skips whatever {@link #content} was not asked
 * for. The end is two zero blocks, or the end of the stream between members, as tar programs have
 * it. Owned by one thread.
 */
public final class TarReader {
  /** Takes the content of a file, piece by piece in rising order; holes are left out. */
  @FunctionalInterface
  public interface Sink {
    void accept(long offset, byte[] data, int from, int length)
        throws IOException, InterruptedException;
  }

  private static final int BLOCK = TarHeader.BLOCK;
  private static final int MAX_EXTENSION = 1024 * 1024;
  private static final int BUFFER = 64 * 1024;

  private final InputStream in;
  private final byte[] buffer = new byte[BUFFER];
  private PaxRecords global = PaxRecords.none();
  private String member = "";
  private long stored;
  private long padding;
  private @Nullable SparseMap sparse;

  public TarReader(InputStream in) {
    this.in = in;
  }

  /** The next member; empty at the end of the archive. */
  public Optional<TarMember> next() throws IOException {
    skip(stored);
    stored = 0;
    int padded = in.readNBytes((int) padding).length;
    if (padded == 0 && padding > 0) {
      padding = 0;
      return Optional.empty(); // some builders end with the last byte of the last file
    }
    if (padded < padding) {
      throw truncated();
    }
    padding = 0;
    sparse = null;
    PaxRecords local = PaxRecords.none();
    String longName = "";
    String longLink = "";
    for (TarHeader header = header(); header != null; header = header()) {
      switch (header.type()) {
        case 'x', 'X' -> local = PaxRecords.parse(extension(header));
        case 'g' -> global = merged(PaxRecords.parse(extension(header)));
        case 'L' -> longName = zeroEnded(extension(header));
        case 'K' -> longLink = zeroEnded(extension(header));
        default -> {
          return Optional.of(member(header, local.over(global), longName, longLink));
        }
      }
    }
    return Optional.empty();
  }

  /** Gives the content of the member that {@link #next} returned last, once. */
  public void content(Sink sink) throws IOException, InterruptedException {
    SparseMap map = sparse;
    if (map == null) {
      range(0, stored, sink);
      return;
    }
    for (int i = 0; i < map.offsets().length; i++) {
      range(map.offsets()[i], map.lengths()[i], sink);
    }
  }

  /** Which parts of the member that {@link #next} returned last {@link #content} gives. */
  public List<TarRange> parts() {
    SparseMap map = sparse;
    if (map == null) {
      return List.of(new TarRange(0, stored));
    }
    List<TarRange> parts = new ArrayList<>();
    for (int i = 0; i < map.offsets().length; i++) {
      if (map.lengths()[i] > 0) {
        parts.add(new TarRange(map.offsets()[i], map.lengths()[i]));
      }
    }
    return parts;
  }

  private void range(long offset, long length, Sink sink) throws IOException, InterruptedException {
    for (long done = 0; done < length; ) {
      int got = in.read(buffer, 0, (int) Math.min(BUFFER, length - done));
      if (got < 0) {
        throw truncated();
      }
      stored -= got;
      sink.accept(offset + done, buffer, 0, got);
      done += got;
    }
  }

  private TarMember member(TarHeader header, PaxRecords pax, String longName, String longLink)
      throws IOException {
    String named = longName.isEmpty() ? header.name() : longName;
    String path = pax.string("path").orElse(named);
    member = pax.string("GNU.sparse.name").orElse(path);
    TarKind kind = kind(header.type(), member);
    long size = kind.hasContent() ? pax.number("size").orElse(header.size()) : 0;
    if (size < 0 || size > Long.MAX_VALUE - BLOCK) {
      throw new TarException(member, "size " + size + " is impossible");
    }
    stored = size;
    padding = (BLOCK - size % BLOCK) % BLOCK;
    if (kind == TarKind.FILE) {
      size = sparseSize(header, pax, size);
    }
    String target = longLink.isEmpty() ? header.linkName() : longLink;
    TarTime modified = pax.time("mtime").orElse(new TarTime(header.modified(), 0));
    return new TarMember(
        kind,
        member,
        pax.string("linkpath").orElse(target),
        header.permissions(),
        pax.number("uid").orElse(header.user()),
        pax.number("gid").orElse(header.group()),
        size,
        pax.time("atime").orElse(modified),
        modified,
        pax.number("SCHILY.devmajor").orElse(header.major()),
        pax.number("SCHILY.devminor").orElse(header.minor()),
        pax.attributes());
  }

  private PaxRecords merged(PaxRecords more) throws TarException {
    PaxRecords all = more.over(global);
    if (all.bytes() > MAX_EXTENSION) {
      throw new TarException(member, "global headers are too long");
    }
    return all;
  }

  /** Reads the map of a sparse file in whichever of the four forms; gives the real size. */
  private long sparseSize(TarHeader header, PaxRecords pax, long size) throws IOException {
    List<Long> pairs;
    long real;
    if (header.type() == 'S') {
      real = header.sparseNumber(483);
      pairs = oldSparsePairs(header);
    } else if (pax.sparse()) {
      real = pax.number("GNU.sparse.realsize").orElse(pax.number("GNU.sparse.size").orElse(-1));
      pairs = pax.sparseMapInContent() ? contentSparsePairs() : pax.sparsePairs();
    } else {
      return size;
    }
    if (real < 0) {
      throw new TarException(member, "sparse file without a size");
    }
    sparse = SparseMap.of(member, pairs, real, stored);
    return real;
  }

  /** Four ranges in the header, 21 in each block that follows as long as one is announced. */
  private List<Long> oldSparsePairs(TarHeader header) throws IOException {
    List<Long> pairs = new ArrayList<>();
    sparseNumbers(header, 386, 4, pairs);
    for (boolean more = header.flag(482); more; ) {
      var extended = new TarHeader(block());
      sparseNumbers(extended, 0, 21, pairs);
      more = extended.flag(504);
      if (pairs.size() / 2 > SparseMap.MAX_RANGES) {
        throw new TarException(member, "sparse map is too long");
      }
    }
    return pairs;
  }

  private static void sparseNumbers(TarHeader header, int at, int count, List<Long> pairs)
      throws TarException {
    for (int i = 0; i < count && header.flag(at + 24 * i); i++) {
      pairs.add(header.sparseNumber(at + 24 * i));
      pairs.add(header.sparseNumber(at + 24 * i + 12));
    }
  }

  /** Numbers on lines of their own, padded to whole blocks: how many ranges, then the ranges. */
  private List<Long> contentSparsePairs() throws IOException {
    List<Long> pairs = new ArrayList<>();
    var line = new StringBuilder();
    long wanted = -1;
    while (wanted < 0 || pairs.size() < wanted) {
      if (stored < BLOCK) {
        throw new TarException(member, "sparse map is cut short");
      }
      stored -= BLOCK;
      for (byte b : block()) {
        if (b != '\n') {
          line.append((char) (b & 0xff));
          continue;
        }
        long number = PaxRecords.decimal(line.toString(), "sparse map");
        line.setLength(0);
        if (wanted >= 0) {
          pairs.add(number);
        } else if (number < 0 || number > SparseMap.MAX_RANGES) {
          throw new TarException(member, "sparse map is too long");
        } else {
          wanted = 2 * number;
        }
        if (pairs.size() == wanted) {
          break;
        }
      }
      if (line.length() > BLOCK) {
        throw new TarException(member, "sparse map is malformed");
      }
    }
    return pairs;
  }

  private static TarKind kind(char type, String name) throws TarException {
    return switch (type) {
      case '0', '7', 'S' -> TarKind.FILE;
      case '\0' -> name.endsWith("/") ? TarKind.DIRECTORY : TarKind.FILE;
      case '1' -> TarKind.HARD_LINK;
      case '2' -> TarKind.SYMLINK;
      case '3' -> TarKind.CHARACTER_DEVICE;
      case '4' -> TarKind.BLOCK_DEVICE;
      case '5' -> TarKind.DIRECTORY;
      case '6' -> TarKind.FIFO;
      default -> throw new TarException(name, "type 0x%02x is not known".formatted((int) type));
    };
  }

  private byte[] extension(TarHeader header) throws IOException {
    long size = header.size();
    if (size < 0 || size > MAX_EXTENSION) {
      throw new TarException(
          header.name(), "extended header of %d bytes is too long".formatted(size));
    }
    byte[] body = in.readNBytes((int) size);
    if (body.length < size) {
      throw truncated();
    }
    skip((BLOCK - size % BLOCK) % BLOCK);
    return body;
  }

  private @Nullable TarHeader header() throws IOException {
    byte[] block = new byte[BLOCK];
    int got = in.readNBytes(block, 0, BLOCK);
    if (got == 0) {
      return null;
    }
    if (got < BLOCK) {
      throw truncated();
    }
    var header = new TarHeader(block);
    if (header.zero()) {
      return null;
    }
    if (!header.checksumFits()) {
      throw new TarException(header.name(), "header checksum does not fit: not a tar archive?");
    }
    return header;
  }

  private byte[] block() throws IOException {
    byte[] block = new byte[BLOCK];
    if (in.readNBytes(block, 0, BLOCK) < BLOCK) {
      throw truncated();
    }
    return block;
  }

  private void skip(long count) throws IOException {
    try {
      in.skipNBytes(count);
    } catch (EOFException _) {
      throw truncated();
    }
  }

  private TarException truncated() {
    return new TarException(member, "the archive is cut short");
  }

  private static String zeroEnded(byte[] body) {
    int end = 0;
    while (end < body.length && body[end] != 0) {
      end++;
    }
    return new String(body, 0, end, StandardCharsets.ISO_8859_1);
  }
}
