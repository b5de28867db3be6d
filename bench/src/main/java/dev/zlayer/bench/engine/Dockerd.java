package dev.zlayer.bench.engine;

import dev.zlayer.host.process.Command;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A Docker daemon of our own, with the busybox image in it. */
public final class Dockerd implements AutoCloseable {
  private final Path directory;
  private final DockerApi api;
  private final Process daemon;

  public Dockerd(Path directory, String image, String controlGroup) throws IOException {
    this.directory = directory;
    this.api = new DockerApi(directory.resolve("socket"));
    Files.createDirectories(directory);
    Path config = Files.writeString(directory.resolve("daemon.json"), "{}"); // not the machine's
    this.daemon =
        Tool.daemon(
            Command.of(
                "dockerd",
                "--data-root=" + directory.resolve("data"),
                "--exec-root=" + Tool.fleeting(directory),
                "--pidfile=" + directory.resolve("pid"),
                "--host=unix://" + api.socket(),
                "--config-file=" + config,
                "--storage-driver=overlay2",
                "--cgroup-parent=" + controlGroup + "/docker",
                "--log-level=warn"),
            directory.resolve("log"),
            () -> api.read("/_ping"));
    api.pull(image);
  }

  DockerApi api() {
    return api;
  }

  Path directory() {
    return directory;
  }

  @Override
  public void close() {
    Tool.end(daemon);
  }
}
