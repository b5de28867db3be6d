package dev.zlayer.runtime.wsl;

import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.file.UnixPath;
import dev.zlayer.oci.Digest;
import java.nio.file.Path;

/**
 * What lies where. What Linux needs lies in the distribution: layers, roots, volumes, bundles. What
 * the agent reads lies in its own data directory, which the distribution sees too: records, logs,
 * exit notes. So they can be read while the distribution is stopped, and by the agent's own user.
 *
 * @param dirs of the agent
 * @param data the agent's data directory as the distribution sees it
 */
record WslDirectories(DataDir dirs, String data) {
  /** Enough to tell layers apart; their names have to fit into one page of mount options. */
  private static final int DIGITS = 32;

  String base() {
    return "/var/lib/zlayer/wsl-" + dirs.tag();
  }

  String layers() {
    return base() + "/layers";
  }

  String layer(Digest diffId) {
    return diffId.hex().substring(0, DIGITS);
  }

  String volume(String name) {
    return base() + "/volumes/" + name;
  }

  /** What the OCI runtime remembers; gone when the distribution stops. */
  String state() {
    return "/run/zlayer/wsl-" + dirs.tag();
  }

  Container container(String name) {
    return new Container(base() + "/containers/" + name);
  }

  /** What the distribution calls something in the agent's data directory. */
  String inside(Path here) {
    return data + "/" + UnixPath.text(dirs.data().relativize(here));
  }

  ContainerDir inside(ContainerDir here) {
    return new ContainerDir(Path.of(inside(here.path())), Path.of(inside(here.run())));
  }

  /** The directory of one container in the distribution. */
  record Container(String path) {
    String root() {
      return path + "/root";
    }

    String bundle() {
      return path + "/bundle";
    }

    String sharedMemory() {
      return path + "/shm";
    }

    /** Files shown inside under /etc. */
    String etc() {
      return path + "/etc";
    }

    String volume(int number) {
      return path + "/volumes/" + number;
    }
  }
}
