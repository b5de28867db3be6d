package dev.zlayer.engine.s3;

import dev.zlayer.container.PathStat;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Archivable;
import java.util.Arrays;
import java.util.Optional;

/** Copies between the files of a container and a bucket; links never lead out of either. */
public final class S3Transfer implements AutoCloseable {
  private static final int TYPE = 0170000;
  private static final int DIRECTORY = 0040000;
  private static final int LINK = 0120000;

  private final S3Store store;

  private S3Transfer(S3Store store) {
    this.store = store;
  }

  public static S3Transfer open(S3Location location) {
    return new S3Transfer(S3Store.open(location));
  }

  /**
   * Who pulled files belong to.
   *
   * @param user by number, since names are the container's own
   */
  public record Owner(long user, long group) {}

  /**
   * Uploads a file as {@code key}, a directory as all below it.
   *
   * @return what was done, for people
   * @throws S3Failure the store refused, or could not be reached
   */
  public String push(Archivable files, String source, String key) throws InterruptedException {
    return new S3Push(store, files).push(source, key);
  }

  /**
   * Downloads an object, or all below a key that ends in a slash, over what is there. A file is
   * complete only when its checksum was right.
   *
   * @return what was done, for people
   * @throws S3Failure the store refused, or could not be reached, or has nothing there
   */
  public String pull(Archivable files, String key, String destination, Owner owner)
      throws InterruptedException {
    return new S3Pull(store, files, files::copyIn, owner).pull(key, destination);
  }

  /**
   * Downloads all below a prefix that is empty or ends in a slash, also into a mount that the
   * container may only read; there may be nothing.
   *
   * @return what was done, for people
   * @throws S3Failure the store refused, or could not be reached
   */
  public String pullAll(Archivable files, String prefix, String destination, Owner owner)
      throws InterruptedException {
    return new S3Pull(store, files, files::fill, owner).pullAny(prefix, destination);
  }

  @Override
  public void close() {
    store.close();
  }

  /** The longest part of a path that is there as a directory, links to one included. */
  static String existing(Archivable files, String path) {
    String at = path;
    while (!at.equals("/")) {
      if (directory(files, at)) {
        return at;
      }
      int slash = at.lastIndexOf('/');
      at = slash <= 0 ? "/" : at.substring(0, slash);
    }
    return at;
  }

  static boolean directory(Archivable files, String path) {
    Optional<PathStat> stat = stat(files, path);
    return stat.isPresent()
        && ((stat.get().mode() & TYPE) == DIRECTORY || (stat.get().mode() & TYPE) == LINK);
  }

  /** Without doubled, trailing and pointless parts; one that leads upwards is refused. */
  static String normal(String path) {
    var result = new StringBuilder();
    for (String part : Arrays.asList(path.split("/", -1))) {
      if (part.equals("..") || !path.startsWith("/")) {
        throw new AgentException.InvalidSpec(
            "'%s' is not an absolute path without '..'".formatted(path));
      }
      if (!part.isEmpty() && !part.equals(".")) {
        result.append('/').append(part);
      }
    }
    return result.isEmpty() ? "/" : result.toString();
  }

  private static Optional<PathStat> stat(Archivable files, String path) {
    try {
      return Optional.of(files.stat(path));
    } catch (AgentException.NotFound _) {
      return Optional.empty();
    }
  }
}
