package dev.zlayer.runtime.wsl;

import dev.zlayer.image.layer.LayerLimits;
import dev.zlayer.tar.TarException;
import dev.zlayer.tar.TarKind;
import dev.zlayer.tar.TarMember;
import dev.zlayer.tar.TarReader;
import dev.zlayer.tar.TarWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * From a layer of an image to an archive that tar unpacks into what overlayfs mounts: whiteouts
 * become devices 0/0, directories that hide those below get an attribute. Pure but for its streams.
 */
final class OverlayTar {
  private static final String WHITEOUT = ".wh.";
  private static final String META = ".wh..wh.";
  private static final String OPAQUE = ".wh..wh..opq";
  private static final String OPAQUE_ATTRIBUTE = "trusted.overlay.opaque";
  private static final byte[] YES = "y".getBytes(StandardCharsets.US_ASCII);
  private static final TarMember.TarTime EPOCH = new TarMember.TarTime(0, 0);
  private static final byte[] ZEROS = new byte[64 << 10];
  private static final LayerLimits LIMITS = LayerLimits.DEFAULT;

  /** Holes that are written out; a layer can claim any number of bytes of them. */
  private static final long MAX_ZEROS = 4L << 30;

  /** What the names of a layer may take in memory, each as long as it is and a little more. */
  private static final long MAX_NAMES = 64L << 20;

  private static final int NAME_OVERHEAD = 128;

  private final TarReader from;
  private final TarWriter to;
  private final Map<String, TarMember> directories = new HashMap<>();
  private final Set<String> others = new HashSet<>();
  private final Set<String> hidden = new HashSet<>();
  private long names;
  private long bytes;
  private long zeros;

  private OverlayTar(InputStream layer, OutputStream archive) {
    this.from = new TarReader(layer);
    this.to = new TarWriter(archive);
  }

  static void convert(InputStream layer, OutputStream archive)
      throws IOException, InterruptedException {
    new OverlayTar(layer, archive).run();
  }

  private void run() throws IOException, InterruptedException {
    for (var member = from.next(); member.isPresent(); member = from.next()) {
      String path = path(member.get().name());
      take(path, member.get());
      int slash = path.lastIndexOf('/');
      String parent = path.substring(0, Math.max(0, slash));
      String name = path.substring(slash + 1);
      if (name.equals(OPAQUE)) {
        hideBelow(parent);
      } else if (name.startsWith(WHITEOUT) && !name.startsWith(META)) {
        hide((parent.isEmpty() ? "" : parent + "/") + name.substring(WHITEOUT.length()));
      } else if (!name.startsWith(META) && !path.contains("/" + META) && !path.startsWith(META)) {
        pass(path, member.get());
      }
    }
    to.finish();
  }

  private void take(String path, TarMember member) throws TarException {
    names += path.length() + NAME_OVERHEAD;
    bytes += member.size();
    if (names > MAX_NAMES) {
      throw new TarException(path, "the names of the layer are too many to be held");
    }
    if (bytes > LIMITS.bytes() || bytes < 0) {
      throw new TarException(path, "the layer has more than %d bytes".formatted(LIMITS.bytes()));
    }
  }

  /** What this layer has at the same place stays; whiteouts are about the layers below. */
  private void hide(String path) throws IOException {
    if (directories.containsKey(path)) {
      hideBelow(path);
    } else if (!others.contains(path) && hidden.add(path)) {
      to.begin(member(TarKind.CHARACTER_DEVICE, path, 0, Map.of()));
    }
  }

  private void hideBelow(String path) throws IOException {
    TarMember known = directories.get(path);
    Map<String, byte[]> attributes =
        new LinkedHashMap<>(known == null ? Map.of() : known.attributes());
    attributes.put(OPAQUE_ATTRIBUTE, YES);
    String name = path.isEmpty() ? "." : path;
    to.begin(
        known == null
            ? member(TarKind.DIRECTORY, name, 0755, attributes)
            : renamed(known, name, attributes));
  }

  private void pass(String path, TarMember member) throws IOException, InterruptedException {
    var attributes = new LinkedHashMap<>(member.attributes());
    attributes.keySet().removeIf(name -> name.contains(".overlay."));
    boolean directory = member.kind() == TarKind.DIRECTORY;
    if (directory && hidden.contains(path)) {
      attributes.put(OPAQUE_ATTRIBUTE, YES);
    }
    TarMember passed = renamed(member, path.isEmpty() ? "." : path, attributes);
    if (directory) {
      directories.put(path, passed);
    } else {
      others.add(path);
    }
    to.begin(passed);
    if (member.kind() == TarKind.FILE) {
      content(member.size());
    }
  }

  /** Holes become zeros, which tar makes holes of again where it can. */
  private void content(long size) throws IOException, InterruptedException {
    long[] done = {0};
    from.content(
        (offset, data, start, length) -> {
          zeros(offset - done[0]);
          to.content(data, start, length);
          done[0] = offset + length;
        });
    zeros(size - done[0]);
  }

  private void zeros(long count) throws IOException {
    zeros += count;
    if (zeros > MAX_ZEROS) {
      throw new IOException("the holes of the layer have more than %d bytes".formatted(MAX_ZEROS));
    }
    for (long left = count; left > 0; left -= ZEROS.length) {
      to.content(ZEROS, 0, (int) Math.min(ZEROS.length, left));
    }
  }

  /** Below the root whatever it says, and never out of it. */
  private static String path(String name) throws TarException {
    if (name.length() > LIMITS.pathBytes()) {
      throw new TarException(name.substring(0, 100), "the name is too long");
    }
    var path = new StringBuilder();
    for (String part : name.split("/", -1)) {
      if (part.equals("..")) {
        throw new TarException(name, "leads out of the layer");
      }
      if (!part.isEmpty() && !part.equals(".")) {
        path.append(path.isEmpty() ? "" : "/").append(part);
      }
    }
    return path.toString();
  }

  private static TarMember member(
      TarKind kind, String name, int permissions, Map<String, byte[]> attributes) {
    return new TarMember(kind, name, "", permissions, 0, 0, 0, EPOCH, EPOCH, 0, 0, attributes);
  }

  private static TarMember renamed(TarMember member, String name, Map<String, byte[]> attributes)
      throws TarException {
    return new TarMember(
        member.kind(),
        name,
        member.kind() == TarKind.HARD_LINK ? path(member.linkName()) : member.linkName(),
        member.permissions(),
        member.user(),
        member.group(),
        member.size(),
        member.accessed(),
        member.modified(),
        member.major(),
        member.minor(),
        attributes);
  }
}
