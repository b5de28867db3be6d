package dev.zlayer.daemon;

import dev.zlayer.daemon.config.ConfigReader;
import dev.zlayer.daemon.config.Configured;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Links;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import dev.zlayer.testkit.image.ImageMaker;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;

/** A place for a daemon: its own directory, socket and network, and no trace of it at the end. */
final class Node implements AutoCloseable {
  static final String IMAGE = "localhost/busybox:test";

  final Path directory;
  final Map<String, String> flags = new HashMap<>();
  final String prefix;

  Node() throws IOException {
    this.directory = Files.createTempDirectory("zd");
    RandomGenerator random = RandomGenerator.getDefault();
    var name = new StringBuilder("zt");
    for (int letter = 0; letter < 8; letter++) {
      name.append((char) ('a' + random.nextInt(26)));
    }
    this.prefix = name.toString();
    flags.put("data_dir", directory.toString());
    flags.put("config_dir", directory.resolve("etc").toString());
    flags.put("network_prefix", prefix);
    flags.put(
        "network_range",
        "10.%d.%d.0/19".formatted(100 + random.nextInt(100), 32 * random.nextInt(8)));
    flags.put("network_pool", "2");
    flags.put("log_level", "warn");
  }

  Node with(String key, String value) {
    flags.put(key, value);
    return this;
  }

  Configured configured() {
    return ConfigReader.read(Optional.empty(), Map.of(), flags);
  }

  Path socket() {
    return configured().config().socketPath();
  }

  /** In this process. */
  Daemon daemon() throws InterruptedException {
    return Daemon.open(configured(), System.getenv(), log());
  }

  static Log log() {
    return new Log(System.err, Log.Level.WARN, Log.Format.TEXT, java.time.InstantSource.system());
  }

  Rest rest() {
    return Rest.on(socket());
  }

  static void loadImage(Rest rest) throws InterruptedException {
    rest.postBytes("/images/load", ImageMaker.busybox().cmd("sh").make().ociArchive(IMAGE))
        .expect(200);
  }

  /** Takes everything away, whatever state it is in; no daemon may serve any more. */
  @Override
  public void close() throws Exception {
    try (Agent agent = Agent.open(configured().config(), Map.of(), log())) {
      agent.jobs().list().stream()
          .filter(execution -> !execution.status().finished())
          .forEach(execution -> agent.jobs().cancel(execution.id()));
      for (Container container : agent.runtime().list()) {
        container.remove(true);
      }
    } catch (AgentException e) {
      System.err.println("could not tidy " + directory + ": " + e.getMessage());
    }
    for (String link : Links.names()) {
      if (link.matches(prefix + "\\d+")) {
        Links.delete(link);
      }
    }
    String ingress = configured().config().directories().ingress().toString();
    Deadline deadline = Deadline.after(Duration.ofSeconds(20));
    // until there is none: a supervisor may start another one meanwhile
    while (ProcessHandle.allProcesses()
            .filter(process -> process.info().commandLine().orElse("").contains(ingress))
            .filter(ProcessHandle::destroyForcibly)
            .count()
        > 0) {
      if (deadline.passed()) {
        throw new IllegalStateException("processes of " + ingress + " do not end");
      }
      Pauses.REAL.pause(Duration.ofMillis(10));
    }
    run("nft", "delete", "table", "ip", prefix);
    run("nft", "delete", "table", "bridge", prefix);
    run("nft", "delete", "table", "ip", prefix + "_endpoints");
    run(
        "sh",
        "-c",
        "awk -v d="
            + directory
            + "/ 'index($2,d)==1{print $2}' /proc/mounts | sort -r | xargs -r umount -l");
    RootedDirectory.removeTree(directory);
  }

  private static void run(String... command) throws InterruptedException {
    Processes.run(Command.of(command), Deadline.after(Duration.ofSeconds(20)));
  }
}
