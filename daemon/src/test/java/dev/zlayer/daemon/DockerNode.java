package dev.zlayer.daemon;

import java.nio.file.Path;

/** A daemon in this process with Docker's own command line on its socket. */
record DockerNode(OpenNode node, DockerCli docker) implements AutoCloseable {
  /**
   * Opens one that has an image.
   *
   * @param configuration where the command line keeps its own
   */
  static DockerNode open(Path configuration) throws Exception {
    OpenNode node = OpenNode.open();
    return new DockerNode(node, new DockerCli(node.dockerSocket(), configuration));
  }

  /** Removes all containers, networks and volumes, for the next test. */
  void clear() throws Exception {
    String[] all = docker.out("ps", "-aq").lines().toArray(String[]::new);
    for (String id : all) {
      docker.run("rm", "-f", id);
    }
    docker.run("network", "prune", "-f");
    for (String volume : docker.out("volume", "ls", "-q").lines().toList()) {
      docker.run("volume", "rm", volume);
    }
  }

  @Override
  public void close() throws Exception {
    node.close();
  }
}
