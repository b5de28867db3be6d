package dev.zlayer.runtime.wsl;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.image.LocalImages;
import dev.zlayer.oci.Digest;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.KeyedLock;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Layers as the distribution has them: unpacked by its own tar, once per diff id. A layer appears
 * whole: it is unpacked under another name, verified, and renamed.
 */
final class WslLayers {
  private static final Duration UNPACK_LIMIT = Duration.ofMinutes(10);
  private static final String LIST = "mkdir -p \"$1\"; ls \"$1\"";
  private static final String UNPACK =
      """
      rm -rf "$1/$2.new"
      mkdir -p "$1/$2.new"
      exec tar -x -f - -C "$1/$2.new" --numeric-owner --same-owner --same-permissions \
        --xattrs --xattrs-include='*' --delay-directory-restore --warning=no-timestamp
      """;
  private static final String PUBLISH = "chmod 755 \"$1/$2.new\"; mv -T \"$1/$2.new\" \"$1/$2\"";
  private static final String DROP =
      "cd \"$1\"; shift; for layer; do rm -rf --one-file-system -- \"$layer\"; done";

  private final WslShell shell;
  private final WslDirectories places;
  private final LocalImages images;
  private final KeyedLock<String> locks = new KeyedLock<>();

  WslLayers(WslShell shell, WslDirectories places, LocalImages images) {
    this.shell = shell;
    this.places = places;
    this.images = images;
  }

  /** Makes sure that all layers of an image are there; their names, lowest first. */
  List<String> ensure(ImageDetails image) throws IOException, InterruptedException {
    var names = new ArrayList<String>();
    Set<String> present = present();
    for (ImageDetails.Layer layer : image.layers()) {
      Digest diffId = layer.diffId().orElseThrow();
      String name = places.layer(diffId);
      if (!present.contains(name)) {
        try (var _ = locks.lock(name)) {
          if (!present().contains(name)) {
            unpack(layer, diffId, name);
          }
        }
      }
      names.add(name);
    }
    return names;
  }

  /** Drops layers that nobody needs. */
  void sweep(Set<String> needed) throws IOException, InterruptedException {
    var useless = new ArrayList<>(List.of(places.layers()));
    present().stream().filter(name -> !needed.contains(name)).forEach(useless::add);
    if (useless.size() > 1) {
      shell.run(DROP, useless.toArray(String[]::new));
    }
  }

  private Set<String> present() throws IOException, InterruptedException {
    return new HashSet<>(shell.lines(LIST, places.layers()));
  }

  private void unpack(ImageDetails.Layer layer, Digest diffId, String name)
      throws IOException, InterruptedException {
    var stream = new LayerStream(images, layer, diffId);
    CommandResult result =
        Processes.run(
            shell.distribution().inside(WslShell.command(UNPACK, places.layers(), name)),
            stream,
            Deadline.after(UNPACK_LIMIT));
    if (stream.failure().isPresent()) {
      throw stream.failure().get();
    }
    if (!result.success()) {
      throw new IOException(
          "layer %s cannot be unpacked in the WSL distribution: %s"
              .formatted(diffId.brief(), WslList.lastLine(result)));
    }
    shell.run(PUBLISH, places.layers(), name);
  }

  /** Writes a layer as overlayfs wants it, and finds out whether it is what it should be. */
  private static final class LayerStream implements Processes.Input {
    private final LocalImages images;
    private final ImageDetails.Layer layer;
    private final Digest diffId;
    private volatile Optional<IOException> failure = Optional.empty();

    LayerStream(LocalImages images, ImageDetails.Layer layer, Digest diffId) {
      this.images = images;
      this.layer = layer;
      this.diffId = diffId;
    }

    /** What was wrong with the layer; what was wrong with the pipe is for its reader to say. */
    Optional<IOException> failure() {
      return failure;
    }

    @Override
    public void writeTo(OutputStream stream) throws IOException, InterruptedException {
      var pipe = new Pipe(stream);
      try (InputStream plain = images.openLayer(layer);
          var counted = new Counted(plain, digest())) {
        OverlayTar.convert(counted, pipe);
        counted.transferTo(OutputStream.nullOutputStream());
        String found = HexFormat.of().formatHex(counted.getMessageDigest().digest());
        if (!found.equals(diffId.hex())) {
          throw new IOException(
              "layer %s is not what the image says: its content is %s".formatted(diffId, found));
        }
      } catch (IOException e) {
        if (!pipe.broken) {
          failure = Optional.of(e);
        }
        throw e;
      }
    }

    private MessageDigest digest() {
      try {
        return MessageDigest.getInstance(diffId.javaAlgorithm());
      } catch (NoSuchAlgorithmException e) {
        throw new AgentException.Internal("this JDK has no " + diffId.javaAlgorithm(), e);
      }
    }
  }

  /** What is passed over counts too. */
  private static final class Counted extends DigestInputStream {
    private final byte[] passed = new byte[16 << 10];

    Counted(InputStream in, MessageDigest digest) {
      super(in, digest);
    }

    @Override
    public long skip(long count) throws IOException {
      return Math.max(0, read(passed, 0, (int) Math.min(passed.length, count)));
    }
  }

  /** Knows whether it was the reader that wanted no more. */
  private static final class Pipe extends FilterOutputStream {
    private boolean broken;

    Pipe(OutputStream out) {
      super(out);
    }

    @Override
    public void write(byte[] bytes, int from, int length) throws IOException {
      try {
        out.write(bytes, from, length);
      } catch (IOException e) {
        broken = true;
        throw e;
      }
    }
  }
}
