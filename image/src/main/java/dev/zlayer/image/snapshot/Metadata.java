package dev.zlayer.image.snapshot;

import dev.zlayer.host.linux.FileKind;
import dev.zlayer.host.linux.FileStat;
import dev.zlayer.host.linux.FileTimes;
import dev.zlayer.host.linux.OpenDirectory;
import dev.zlayer.host.linux.OverlayMount;
import java.io.IOException;
import java.util.Map;

/** Copies what an inode is like, except what it says to overlayfs. */
final class Metadata {
  static final String OVERLAY = OverlayMount.ATTRIBUTES;

  private Metadata() {}

  static void copy(OpenDirectory from, String name, OpenDirectory to, String target)
      throws IOException {
    FileStat stat = from.stat(name);
    to.owner(target, stat.user(), stat.group());
    if (stat.kind() != FileKind.SYMLINK) {
      to.permissions(target, stat.permissions());
    }
    for (Map.Entry<String, byte[]> attribute : from.attributes(name).entrySet()) {
      if (!attribute.getKey().startsWith(OVERLAY)) {
        to.attribute(target, attribute.getKey(), attribute.getValue());
      }
    }
    to.times(target, times(stat));
  }

  static FileTimes times(FileStat stat) {
    return FileTimes.modified(stat.modifiedSeconds(), stat.modifiedNanos());
  }

  static boolean opaque(OpenDirectory directory) throws IOException {
    return directory.attributes(OpenDirectory.SELF).containsKey(OVERLAY + "opaque");
  }
}
