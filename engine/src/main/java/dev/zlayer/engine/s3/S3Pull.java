package dev.zlayer.engine.s3;

import dev.zlayer.error.AgentException;
import dev.zlayer.port.Archivable;
import dev.zlayer.tar.TarKind;
import dev.zlayer.tar.TarMember;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import software.amazon.awssdk.services.s3.model.HeadObjectResponse;
import software.amazon.awssdk.services.s3.model.NoSuchBucketException;
import software.amazon.awssdk.services.s3.model.S3Object;

/** One download into a container, as an archive that is made while the container unpacks it. */
final class S3Pull {
  private final S3Store store;
  private final Archivable files;
  private final Unpacking unpacking;
  private final S3Transfer.Owner owner;
  private final Set<String> made = new HashSet<>();
  private int objects;
  private long bytes;
  private int unchecked;

  /** Where archives of what was downloaded go. */
  @FunctionalInterface
  interface Unpacking {
    void unpack(String directory, InputStream tar) throws InterruptedException;
  }

  S3Pull(S3Store store, Archivable files, Unpacking unpacking, S3Transfer.Owner owner) {
    this.store = store;
    this.files = files;
    this.unpacking = unpacking;
    this.owner = owner;
  }

  String pull(String key, String destination) throws InterruptedException {
    if (!key.endsWith("/")) {
      pullOne(key, destination);
    } else if (!pullAll(key, S3Transfer.normal(destination), _ -> List.of())) {
      throw new S3Failure("there is nothing at s3://%s/%s".formatted(store.bucket(), key));
    }
    return done(key);
  }

  /** All below a prefix, also when that is nothing. */
  String pullAny(String prefix, String destination) throws InterruptedException {
    boolean _ = pullAll(prefix, S3Transfer.normal(destination), this::parents);
    return done(prefix);
  }

  private String done(String key) {
    return "pulled %d objects with %d bytes from s3://%s/%s%s"
        .formatted(
            objects,
            bytes,
            store.bucket(),
            key,
            unchecked == 0 ? "" : ", %d of them without a checksum".formatted(unchecked));
  }

  /** Into a directory it goes under its own name. */
  private void pullOne(String key, String destination) throws InterruptedException {
    String path = S3Transfer.normal(destination);
    HeadObjectResponse object = found(key);
    String target =
        S3Transfer.normal(
            destination.endsWith("/") || S3Transfer.directory(files, path)
                ? path + "/" + key.substring(key.lastIndexOf('/') + 1)
                : path);
    String base = S3Transfer.existing(files, parent(target));
    unpack(base, List.of(file(key, object, below(base, target))).iterator());
  }

  /** False when there is nothing; {@code before} says what has to be there for a name. */
  private boolean pullAll(
      String prefix, String destination, Function<String, List<TarInput.Piece>> before)
      throws InterruptedException {
    String base = S3Transfer.existing(files, destination);
    try (Stream<S3Object> all = store.list(prefix)) {
      Iterator<S3Object> listed = all.iterator();
      if (!store.asked(prefix, listed::hasNext)) {
        return false;
      }
      unpack(
          base,
          new Iterator<>() {
            private final Deque<TarInput.Piece> waiting = new ArrayDeque<>();

            @Override
            public boolean hasNext() {
              return !waiting.isEmpty() || store.asked(prefix, listed::hasNext);
            }

            @Override
            public TarInput.Piece next() {
              if (waiting.isEmpty()) {
                String key = store.asked(prefix, listed::next).key();
                String name = below(base, destination + "/" + safe(prefix, key));
                waiting.addAll(before.apply(name));
                waiting.add(key.endsWith("/") ? directory(name) : file(key, found(key), name));
              }
              return waiting.remove();
            }
          });
      return true;
    }
  }

  /** The directories above a name, each once, so that they have an owner too. */
  private List<TarInput.Piece> parents(String name) {
    var pieces = new ArrayList<TarInput.Piece>();
    for (int slash = name.indexOf('/'); slash > 0; slash = name.indexOf('/', slash + 1)) {
      String parent = name.substring(0, slash);
      if (made.add(parent)) {
        pieces.add(directory(parent));
      }
    }
    return pieces;
  }

  private HeadObjectResponse found(String key) {
    try {
      return store
          .head(key)
          .orElseThrow(
              () -> new S3Failure("there is no object s3://%s/%s".formatted(store.bucket(), key)));
    } catch (NoSuchBucketException e) {
      throw S3Failure.of("bucket " + store.bucket(), e);
    }
  }

  /** What was wrong with the store is told as such, not as a broken archive. */
  private void unpack(String base, Iterator<TarInput.Piece> pieces) throws InterruptedException {
    try (var tar = new TarInput(pieces)) {
      unpacking.unpack(base, tar);
    } catch (AgentException.Internal e) {
      String reason = e.getCause() == null ? "" : String.valueOf(e.getCause().getMessage());
      if (reason.startsWith("s3://")) {
        throw new S3Failure(reason);
      }
      throw e;
    } catch (java.io.IOException e) {
      throw new AgentException.Internal("closing an archive in memory does nothing", e);
    }
  }

  private TarInput.Piece file(String key, HeadObjectResponse object, String name) {
    long size = object.contentLength();
    return new TarInput.Piece(
        member(TarKind.FILE, name, 0644, size, object.lastModified().getEpochSecond()),
        () -> {
          var download = new Download(store, key, object);
          objects++;
          bytes += size;
          unchecked += download.checked() ? 0 : 1;
          return download;
        });
  }

  private TarInput.Piece directory(String name) {
    return new TarInput.Piece(
        member(TarKind.DIRECTORY, name + "/", 0755, 0, 0), InputStream::nullInputStream);
  }

  private TarMember member(TarKind kind, String name, int mode, long size, long modified) {
    var time = new TarMember.TarTime(modified, 0);
    return new TarMember(
        kind,
        new String(name.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1),
        "",
        mode,
        owner.user(),
        owner.group(),
        size,
        time,
        time,
        0,
        0,
        Map.of());
  }

  /** A key may be any text; as a path it must stay below the destination. */
  private static String safe(String prefix, String key) {
    String rest = key.substring(prefix.length());
    for (String part : rest.split("/", -1)) {
      if (part.equals("..") || part.equals(".") || part.indexOf('\0') >= 0) {
        throw new AgentException.InvalidSpec(
            "the object '%s' cannot be a file below a directory".formatted(key));
      }
    }
    return rest;
  }

  private static String below(String base, String path) {
    String rest = S3Transfer.normal(path).substring(base.equals("/") ? 0 : base.length());
    return rest.startsWith("/") ? rest.substring(1) : rest;
  }

  private static String parent(String path) {
    int slash = path.lastIndexOf('/');
    return slash <= 0 ? "/" : path.substring(0, slash);
  }
}
