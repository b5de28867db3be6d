package dev.zlayer.testkit.image;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;

/**
 * One member of a tar archive, honest unless told otherwise.
 *
 * @param type the type flag of ustar: {@code '0'} file, {@code '1'} hard link, {@code '2'} symbolic
 *     link, {@code '3'} and {@code '4'} devices, {@code '5'} directory, {@code '6'} fifo
 * @param link target of a link, else empty
 * @param pax further pax records, written as they are and after those the entry itself needs
 * @param declaredSize what the header claims instead of the length of the content
 * @param patch changes the finished 512 bytes of the header; the checksum is computed after it
 * @param badChecksum the checksum does not fit
 */
@SuppressWarnings("ArrayRecordComponent") // content is bytes to write, never compared
public record TarEntry(
    String path,
    char type,
    int mode,
    long uid,
    long gid,
    Instant modified,
    String link,
    int major,
    int minor,
    byte[] content,
    Map<String, byte[]> pax,
    OptionalLong declaredSize,
    Optional<Consumer<byte[]>> patch,
    boolean badChecksum) {
  /** The time of every entry that names no other, so that images are the same in each run. */
  public static final Instant EPOCH = Instant.parse("2020-01-02T03:04:05Z");

  private static final byte[] NONE = {};

  public static TarEntry file(String path, String content) {
    return file(path, content.getBytes(StandardCharsets.UTF_8));
  }

  public static TarEntry file(String path, byte[] content) {
    return of(path, '0', 0644, "", content);
  }

  public static TarEntry directory(String path) {
    return of(path, '5', 0755, "", NONE);
  }

  public static TarEntry symlink(String path, String target) {
    return of(path, '2', 0777, target, NONE);
  }

  public static TarEntry hardLink(String path, String target) {
    return of(path, '1', 0644, target, NONE);
  }

  public static TarEntry fifo(String path) {
    return of(path, '6', 0644, "", NONE);
  }

  public static TarEntry characterDevice(String path, int major, int minor) {
    return of(path, '3', 0666, "", NONE).withDevice(major, minor);
  }

  public static TarEntry blockDevice(String path, int major, int minor) {
    return of(path, '4', 0660, "", NONE).withDevice(major, minor);
  }

  /** Hides {@code path}, a path of a lower layer. */
  public static TarEntry whiteout(String path) {
    int slash = path.lastIndexOf('/') + 1;
    return file(path.substring(0, slash) + ".wh." + path.substring(slash), NONE);
  }

  /** Hides what lower layers have in {@code directory}. */
  public static TarEntry opaque(String directory) {
    return file(directory + "/.wh..wh..opq", NONE);
  }

  /** Any type flag, also one that does not exist. */
  public static TarEntry of(String path, char type, int mode, String link, byte[] content) {
    return new TarEntry(
        path,
        type,
        mode,
        0,
        0,
        EPOCH,
        link,
        0,
        0,
        content,
        Map.of(),
        OptionalLong.empty(),
        Optional.empty(),
        false);
  }

  public TarEntry withMode(int mode) {
    return with(next -> next.mode = mode);
  }

  public TarEntry withOwner(long uid, long gid) {
    return with(
        next -> {
          next.uid = uid;
          next.gid = gid;
        });
  }

  public TarEntry withModified(Instant modified) {
    return with(next -> next.modified = modified);
  }

  public TarEntry withDevice(int major, int minor) {
    return with(
        next -> {
          next.major = major;
          next.minor = minor;
        });
  }

  /** An extended attribute such as {@code security.capability} or {@code user.note}. */
  public TarEntry withXattr(String name, byte[] value) {
    return withPax("SCHILY.xattr." + name, value);
  }

  /** A pax record as it is, also one that contradicts the entry ({@code path}, {@code size}). */
  public TarEntry withPax(String key, byte[] value) {
    var records = new LinkedHashMap<>(pax);
    records.put(key, value);
    return with(next -> next.pax = records);
  }

  /** The header lies about the size; the content is written (and padded) as it is. */
  public TarEntry withDeclaredSize(long size) {
    return with(next -> next.declaredSize = OptionalLong.of(size));
  }

  public TarEntry withPatchedHeader(Consumer<byte[]> patch) {
    return with(next -> next.patch = Optional.of(patch));
  }

  public TarEntry withBadChecksum() {
    return with(next -> next.badChecksum = true);
  }

  private TarEntry with(Consumer<Next> change) {
    var next = new Next();
    change.accept(next);
    return new TarEntry(
        path,
        type,
        next.mode,
        next.uid,
        next.gid,
        next.modified,
        link,
        next.major,
        next.minor,
        content,
        next.pax,
        next.declaredSize,
        next.patch,
        next.badChecksum);
  }

  /** What can be told otherwise, as it is before that. */
  private final class Next {
    int mode = mode();
    long uid = uid();
    long gid = gid();
    Instant modified = modified();
    int major = major();
    int minor = minor();
    Map<String, byte[]> pax = pax();
    OptionalLong declaredSize = declaredSize();
    Optional<Consumer<byte[]>> patch = patch();
    boolean badChecksum = badChecksum();
  }
}
