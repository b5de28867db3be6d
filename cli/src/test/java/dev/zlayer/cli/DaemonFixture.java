package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import dev.zlayer.testkit.image.ImageMaker;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A real daemon in a process of its own, with its own directory, socket and networks, and command
 * lines against it. Closing removes everything that it made.
 */
public final class DaemonFixture implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final Path directory;
  private final String prefix;
  private final CliFixture cli;
  private final List<String> enter;

  private DaemonFixture(Path directory, List<String> enter, Map<String, String> settings) {
    this.directory = directory;
    this.enter = List.copyOf(enter);
    this.prefix =
        "zt" + Integer.toString(ThreadLocalRandom.current().nextInt(36 * 36 * 36), 36) + "z";
    var env = new HashMap<>(settings);
    env.put("ZLAYER_DATA_DIR", directory.resolve("data").toString());
    env.put("ZLAYER_CONFIG_DIR", directory.resolve("etc").toString());
    env.put("ZLAYER_NETWORK_PREFIX", prefix);
    env.put("ZLAYER_NETWORK_POOL", "1");
    env.put("HOME", directory.toString());
    this.cli = new CliFixture(directory, env);
    Installation.use();
  }

  /** A place for one that is not started yet. */
  public static DaemonFixture in(Path directory) {
    return new DaemonFixture(directory, List.of(), Map.of());
  }

  /** One that runs in a network namespace; command lines reach it by its socket. */
  public static DaemonFixture start(
      Path directory, HostNamespace host, Map<String, String> settings) {
    return started(new DaemonFixture(directory, host.enter(), settings));
  }

  /** The same in one that is entered with these words. */
  static DaemonFixture start(Path directory, List<String> enter) {
    return started(new DaemonFixture(directory, enter, Map.of()));
  }

  /** Starts one through the command line; the directory may hold what an earlier one left. */
  public static DaemonFixture start(Path directory) {
    return started(in(directory));
  }

  /** One with settings, as variables of the environment. */
  public static DaemonFixture start(Path directory, Map<String, String> settings) {
    return started(new DaemonFixture(directory, List.of(), settings));
  }

  private static DaemonFixture started(DaemonFixture fixture) {
    try {
      fixture.restart();
      return fixture;
    } catch (RuntimeException | Error e) {
      fixture.close();
      throw e;
    }
  }

  public CliFixture cli() {
    return cli;
  }

  public Path directory() {
    return directory;
  }

  public Path dataDirectory() {
    return directory.resolve("data");
  }

  public Map<String, String> env() {
    return cli.env();
  }

  /** An image with busybox, under that name. */
  public DaemonFixture withBusybox(String name) {
    CliFixture.Result loaded =
        cli.runWithInput(
            ImageMaker.busybox().make().dockerArchive(name), "image", "load", "--json");
    assertThat(loaded.code()).as(loaded.err()).isZero();
    return this;
  }

  /** The words that start a command line in a process of its own. */
  public List<String> process(String... arguments) {
    var words = new ArrayList<String>();
    words.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    words.addAll(
        List.of(
            "--enable-native-access=ALL-UNNAMED", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    words.addAll(List.of("-cp", System.getProperty("java.class.path"), "dev.zlayer.cli.Main"));
    words.addAll(List.of(arguments));
    return words;
  }

  /** Runs and insists on success. */
  public String ok(String... arguments) {
    CliFixture.Result result = cli.run(arguments);
    assertThat(result.code()).as(result.out() + result.err()).isZero();
    return result.out();
  }

  public Json json(String... arguments) {
    return JsonText.parse(ok(arguments));
  }

  public void restart() {
    if (!enter.isEmpty()) {
      restartInNamespace();
      return;
    }
    CliFixture.Result started = cli.run("daemon", "start");
    assertThat(started.code()).as(started.err()).isZero();
  }

  private void restartInNamespace() {
    var words = new ArrayList<>(enter);
    words.addAll(process("daemon", "start"));
    words.add(enter.size() + 1, "-Dzlayer.home=" + System.getProperty("zlayer.home"));
    try {
      CommandResult started =
          Processes.run(Command.of(words).withEnv(env()), Deadline.after(LIMIT));
      assertThat(started.code()).as(started.stderr()).isZero();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The name of its packet filter tables. */
  public String prefix() {
    return prefix;
  }

  /** Ends the daemon in the middle of whatever it does. */
  public void kill() {
    long pid = json("daemon", "status", "--json").at("pid").integer().orElseThrow();
    ProcessHandle process = ProcessHandle.of(pid).orElseThrow();
    process.destroyForcibly();
    process.onExit().join();
  }

  @Override
  public void close() {
    try {
      restart();
      for (Json deployment : JsonText.parse(cli.run("status", "--json").out()).items()) {
        cli.run("down", "--volumes", deployment.at("name").string().orElse(""));
      }
    } catch (RuntimeException | AssertionError _) {
      // what is left is removed below
    }
    try {
      List<String> rm = new ArrayList<>(List.of("rm", "-f"));
      rm.addAll(cli.run("ps", "--all", "--quiet").out().lines().toList());
      if (rm.size() > 2) {
        cli.run(rm.toArray(String[]::new));
      }
      cli.run("daemon", "stop");
      endIngress();
      removeNetworks();
      run("umount", dataDirectory().resolve("run/secrets").toString());
      if (Files.exists(dataDirectory())) {
        RootedDirectory.removeTree(dataDirectory());
      }
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * HAProxy outlives its agent: when a deployment could not be removed, nobody else ends it. Until
   * there is none, since a supervisor may start another one meanwhile.
   */
  private void endIngress() throws InterruptedException {
    String ingress = dataDirectory().resolve("run/ingress").toString();
    Deadline deadline = Deadline.after(LIMIT);
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
  }

  private void removeNetworks() throws InterruptedException {
    run("nft", "delete", "table", "ip", prefix);
    run("nft", "delete", "table", "bridge", prefix);
    run("nft", "delete", "table", "ip", prefix + "_endpoints");
    for (String line : run("ip", "-br", "link").stdout().lines().toList()) {
      String name = line.split("[ @]", 2)[0];
      if (name.startsWith(prefix)) {
        run("ip", "link", "delete", name);
      }
    }
  }

  private static CommandResult run(String... command) throws InterruptedException {
    return Processes.run(Command.of(command), Deadline.after(LIMIT));
  }
}
