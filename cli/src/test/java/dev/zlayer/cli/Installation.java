package dev.zlayer.cli;

import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import dev.zlayer.testkit.image.ImageMaker;
import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Stands for an installation, where there is none: a launcher that starts daemons with an AOT cache
 * of the jars under test, as the packaged one does. A start takes less than half of the processor
 * time, and there are more than a hundred of them. It is made once for all JVMs that run tests, and
 * again when a jar changes.
 */
final class Installation {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final String HOME = "zlayer.home";
  private static final String CACHE = "daemon.aot";

  private Installation() {}

  /** Has daemons started by it. Without one they are started from the class path. */
  static synchronized void use() {
    if (System.getProperty(HOME) != null) {
      return;
    }
    List<Path> jars = jars();
    if (jars.isEmpty()) {
      System.setProperty(HOME, "none");
      return;
    }
    Path home = Path.of("target", "installation-" + Integer.toHexString(state(jars).hashCode()));
    try {
      System.setProperty(HOME, made(home.toAbsolutePath(), jars).toString());
    } catch (IOException e) {
      System.err.println("daemons are started from the class path: " + e);
      System.setProperty(HOME, "none");
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The class path without tests; empty when a part of it is no jar, which no cache takes. */
  private static List<Path> jars() {
    List<Path> entries =
        Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
            .map(Path::of)
            .filter(entry -> !entry.endsWith("test-classes"))
            .toList();
    return entries.stream().allMatch(Files::isRegularFile) ? entries : List.of();
  }

  /** Another one when a jar is another one. */
  private static String state(List<Path> jars) {
    return jars.stream()
        .map(jar -> jar + " " + jar.toFile().length() + " " + jar.toFile().lastModified())
        .collect(Collectors.joining("\n"));
  }

  private static Path made(Path home, List<Path> jars) throws IOException, InterruptedException {
    try (var lock =
            FileChannel.open(
                home.resolveSibling("installation.lock"),
                StandardOpenOption.CREATE,
                StandardOpenOption.WRITE);
        var _ = lock.lock()) {
      if (!Files.exists(home)) {
        Path begun = Files.createTempDirectory(home.getParent(), "installation");
        train(begun, jars);
        Files.move(begun, home, StandardCopyOption.ATOMIC_MOVE);
      }
      return home;
    }
  }

  /** Runs a daemon that does a little of everything; ends with the cache and the launcher made. */
  private static void train(Path home, List<Path> jars) throws IOException, InterruptedException {
    Path work = Files.createTempDirectory("zinst");
    String prefix = "zi" + Integer.toString(ThreadLocalRandom.current().nextInt(36 * 36 * 36), 36);
    Map<String, String> env =
        Map.of(
            "ZLAYER_DATA_DIR", work.resolve("data").toString(),
            "ZLAYER_CONFIG_DIR", work.resolve("etc").toString(),
            "ZLAYER_NETWORK_PREFIX", prefix,
            "ZLAYER_NETWORK_POOL", "0",
            "HOME", work.toString());
    List<String> java = java(jars);
    var words = new ArrayList<>(java);
    words.add(1, "-XX:AOTCacheOutput=" + home.resolve(CACHE));
    words.add("serve");
    Process daemon = Processes.start(Command.of(words).withEnv(env), work.resolve("log").toFile());
    try {
      var cli = new CliFixture(work, env);
      Deadline deadline = Deadline.after(LIMIT);
      while (cli.run("ps").code() != 0 && daemon.isAlive() && !deadline.passed()) {
        Pauses.REAL.pause(Duration.ofMillis(50));
      }
      cli.runWithInput(ImageMaker.busybox().make().dockerArchive("bb:1"), "image", "load");
      cli.run("run", "--rm", "--network", "none", "bb:1", "true");
      cli.run("ps", "--all", "--json");
      daemon.destroy();
      if (!daemon.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS)) {
        throw new IOException("the training does not end");
      }
    } finally {
      daemon.destroyForcibly().waitFor();
      run("umount", work.resolve("data/run/secrets").toString());
      run("nft", "delete", "table", "ip", prefix);
      run("nft", "delete", "table", "bridge", prefix);
      run("nft", "delete", "table", "ip", prefix + "_endpoints");
      RootedDirectory.removeTree(work);
    }
    var launched = new ArrayList<>(java);
    // in the directory of the launcher, which is moved when it is complete; a cache that does not
    // fit is passed over
    launched.add(1, "\"-XX:AOTCache=${0%/bin/zlayer}/" + CACHE + "\" -Xlog:disable");
    Path launcher = Files.createDirectories(home.resolve("bin")).resolve("zlayer");
    Files.writeString(launcher, "#!/bin/sh\nexec " + String.join(" ", launched) + " \"$@\"\n");
    Files.setPosixFilePermissions(launcher, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  private static void run(String... command) throws InterruptedException {
    Processes.run(Command.of(command), Deadline.after(LIMIT));
  }

  private static List<String> java(List<Path> jars) {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "--enable-native-access=ALL-UNNAMED",
        // as the packaged launcher has it: nothing is moved or compiled because of the cache
        "-XX:+UnlockDiagnosticVMOptions",
        "-XX:ArchiveRelocationMode=0",
        "-XX:-AOTRecordTraining",
        "-XX:-AOTReplayTraining",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:+ExitOnOutOfMemoryError",
        "-cp",
        jars.stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator)),
        "dev.zlayer.cli.Main");
  }
}
