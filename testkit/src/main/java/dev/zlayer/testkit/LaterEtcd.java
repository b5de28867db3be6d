package dev.zlayer.testkit;

import java.nio.file.Path;

/** A later etcd than that of this Debian, which {@code tools/packages.sh} fetches. */
public final class LaterEtcd {
  private LaterEtcd() {}

  public static Path path() {
    return Path.of(System.getProperty("user.home"), ".cache", "zlayer", "etcd-next");
  }
}
