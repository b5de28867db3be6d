package dev.zlayer.engine.s3;

import dev.zlayer.error.AgentException;
import dev.zlayer.port.Archivable;
import dev.zlayer.tar.LimitedOutput;
import dev.zlayer.tar.TarMember;
import dev.zlayer.tar.TarReader;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** One upload out of a container, from the archive that the container makes of its files. */
final class S3Push {
  private static final int PIPE = 256 << 10;
  private static final int NAMED = 5;

  private final S3Store store;
  private final Archivable files;
  private final List<String> skipped = new ArrayList<>();
  private final Map<String, String> keys = new HashMap<>();
  private int objects;
  private long bytes;

  S3Push(S3Store store, Archivable files) {
    this.store = store;
    this.files = files;
  }

  String push(String source, String key) throws InterruptedException {
    String path = S3Transfer.normal(source);
    try (var scope = new TaskScope("push");
        var in = new PipedInputStream(PIPE)) {
      var out = new PipedOutputStream(in);
      scope.fork(
          () -> {
            try (out) {
              files.copyOut(path, out);
            }
            return true;
          });
      try {
        send(new TarReader(in), key);
      } catch (IOException e) {
        in.close(); // lets the other side end
        scope.join(); // throws why the archive ended early, if that was its fault
        throw new AgentException.Internal("cannot read the archive of " + path, e);
      }
      scope.join();
    } catch (IOException e) {
      throw new AgentException.Internal("cannot copy " + path + " out", e);
    }
    return "pushed %d objects with %d bytes to s3://%s/%s%s"
        .formatted(objects, bytes, store.bucket(), key, skipped());
  }

  private void send(TarReader tar, String key) throws IOException, InterruptedException {
    Optional<TarMember> member = tar.next();
    while (member.isPresent()) {
      if (Thread.interrupted()) {
        throw new InterruptedException("pushing was interrupted");
      }
      send(member.get(), tar, key);
      member = tar.next();
    }
  }

  private void send(TarMember member, TarReader tar, String key)
      throws IOException, InterruptedException {
    String name = text(member.name());
    switch (member.kind()) {
      case FILE -> {
        String target = target(name, key);
        keys.put(name, target);
        file(member, tar, target);
      }
      case HARD_LINK -> {
        String first = keys.get(text(member.linkName()));
        if (first == null) {
          skipped.add(name);
        } else {
          store.copy(first, target(name, key));
          objects++;
        }
      }
      case DIRECTORY -> {}
      case SYMLINK, CHARACTER_DEVICE, BLOCK_DEVICE, FIFO -> skipped.add(name);
    }
  }

  private void file(TarMember member, TarReader tar, String key)
      throws IOException, InterruptedException {
    if (member.size() > LimitedOutput.DEFAULT.bytes() - bytes) {
      // an object has no holes, so that a file which takes no room here takes all of it there
      throw new AgentException.InvalidSpec(
          "more than %s to push to %s".formatted(LimitedOutput.DEFAULT, key));
    }
    try (var upload = new Upload(store, key, member.size())) {
      var written = new long[1];
      tar.content(
          (offset, data, from, length) -> {
            upload.zeros(offset - written[0]);
            upload.write(data, from, length);
            written[0] = offset + length;
          });
      upload.zeros(member.size() - written[0]);
      upload.finish();
    }
    objects++;
    bytes += member.size();
  }

  /**
   * The archive's names begin with the last name of the source: of a file that is all, of a
   * directory what follows is the way below it.
   */
  private static String target(String name, String key) {
    int slash = name.indexOf('/');
    if (slash < 0) {
      return key.endsWith("/") ? key + name : key;
    }
    String prefix = key.isEmpty() || key.endsWith("/") ? key : key + "/";
    return prefix + name.substring(slash + 1);
  }

  private String skipped() {
    if (skipped.isEmpty()) {
      return "";
    }
    return ", left out %d that are no files: %s"
        .formatted(
            skipped.size(), String.join(", ", skipped.subList(0, Math.min(NAMED, skipped.size()))));
  }

  private static String text(String raw) {
    String name = new String(raw.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
    return name.startsWith("./") ? name.substring(2) : name;
  }
}
