package dev.zlayer.daemon.build;

import dev.zlayer.container.NetworkSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.runtime.cni.Attachment;
import dev.zlayer.runtime.cni.Networks;
import dev.zlayer.runtime.oci.config.EtcFiles;
import dev.zlayer.task.Threads;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * A network namespace on the default network for one build: the builder and its commands reach what
 * a container reaches, and neither the loopback interface nor the abstract sockets of the host.
 */
final class BuildNetwork implements AutoCloseable {
  private static final String PREFIX = "build-";
  private static final Path RESOLV_CONF = Path.of("/etc/resolv.conf");
  private static final Path RESOLVED_CONF = Path.of("/run/systemd/resolve/resolv.conf");

  /** Enters the namespace, and has its own list of name servers in place of the host's. */
  private static final String ENTER =
      """
      [ ! -e /etc/resolv.conf ] || mount --bind "$1" /etc/resolv.conf || exit 125
      shift
      exec "$@"
      """;

  private final Networks networks;
  private final String name;
  private final Path netns;
  private final Path resolvConf;

  private BuildNetwork(Networks networks, String name, Path netns, Path resolvConf) {
    this.networks = networks;
    this.name = name;
    this.netns = netns;
    this.resolvConf = resolvConf;
  }

  /** Detaches what builds of an earlier agent left. */
  static void removeAll(Networks networks) throws InterruptedException {
    for (String name : networks.attached()) {
      if (name.startsWith(PREFIX)) {
        networks.detach(name);
      }
    }
  }

  /**
   * Attaches a build.
   *
   * @param directory that of the build, whose name begins as all of them do
   */
  static BuildNetwork open(Networks networks, Path directory)
      throws IOException, InterruptedException {
    String name = directory.getFileName().toString();
    if (!name.startsWith(PREFIX)) {
      throw new AgentException.Internal("not the directory of a build: " + directory);
    }
    Attachment attachment = networks.attach(name, NetworkSpec.DEFAULT);
    try {
      Path file = directory.resolve("resolv.conf");
      Files.writeString(
          file, EtcFiles.resolvConf(NetworkSpec.DEFAULT, nameServers(), attachment.gateway()));
      return new BuildNetwork(networks, name, attachment.netns(), file);
    } catch (IOException | RuntimeException e) {
      Threads.complete(() -> networks.detach(name));
      throw e;
    }
  }

  /** Where systemd-resolved listens on loopback it keeps the list of those that it asks itself. */
  private static String nameServers() throws IOException {
    for (Path file : List.of(RESOLV_CONF, RESOLVED_CONF)) {
      Optional<String> text =
          Files.exists(file) ? Optional.of(Files.readString(file)) : Optional.empty();
      if (text.filter(EtcFiles::reachable).isPresent()) {
        return text.get();
      }
    }
    return "";
  }

  /** The words before those of a program that runs there. */
  List<String> words() {
    return List.of(
        "nsenter", "--net=" + netns, "--", "/bin/sh", "-c", ENTER, "sh", resolvConf.toString());
  }

  @Override
  public void close() {
    Threads.complete(() -> networks.detach(name));
  }
}
