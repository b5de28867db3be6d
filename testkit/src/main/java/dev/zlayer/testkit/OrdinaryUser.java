package dev.zlayer.testkit;

import dev.zlayer.host.linux.ProcessIdentity;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.io.File;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A user of the machine who is not root and runs Java programs of this build. The classes are
 * copied for them, since a build and its libraries may lie in a directory that is closed to others.
 */
public final class OrdinaryUser {
  private static final int KILL = 9;

  /**
   * The user has a name and a range of numbers, and may make network devices, as on a host where
   * people log in; only this process and its children see that.
   */
  private static final String HOST =
      """
      set -e
      cp /etc/passwd "$1/passwd"
      echo "ordinary:x:$2:$2::$1/home:/bin/sh" >>"$1/passwd"
      echo "ordinary:200000:65536" >"$1/subid"
      mount --bind "$1/passwd" /etc/passwd
      for file in subuid subgid; do
        touch "/etc/$file"
        mount --bind "$1/subid" "/etc/$file"
      done
      mkdir -p /dev/net
      mount -t tmpfs tmpfs /dev/net
      mknod -m 666 /dev/net/tun c 10 200
      user=$2
      shift 2
      exec setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
      """;

  private final int number;
  private final Path directory;
  private final String classPath;

  private OrdinaryUser(int number, Path directory, String classPath) {
    this.number = number;
    this.directory = directory;
    this.classPath = classPath;
  }

  /**
   * Opens the way to that directory for everybody.
   *
   * @param number one that no other test uses at the same time
   */
  public static OrdinaryUser in(Path directory, int number) throws IOException {
    for (int names = directory.getNameCount(); names > 1; names--) {
      Files.setPosixFilePermissions(
          directory.getRoot().resolve(directory.subpath(0, names)),
          PosixFilePermissions.fromString("rwxr-xr-x"));
    }
    Path copies = Files.createDirectories(directory.resolve("classes"));
    var places = new ArrayList<String>();
    for (String place : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      Path copy = copies.resolve(places.size() + place.replaceFirst(".*(\\.jar)$|.*", "$1"));
      if (!place.isEmpty() && Files.exists(Path.of(place))) {
        copy(Path.of(place), copy);
        places.add(copy.toString());
      }
    }
    return new OrdinaryUser(number, directory, String.join(File.pathSeparator, places));
  }

  /** Makes the user's home; everything below it is theirs. */
  public Path home() throws IOException {
    Path home = directory.resolve("home");
    if (!Files.exists(home)) {
      Files.createDirectory(home);
      Files.setAttribute(home, "unix:uid", number);
      Files.setAttribute(home, "unix:gid", number);
    }
    return home;
  }

  /** The words that start a class of this build. */
  public List<String> java(List<String> options, String type, String... words) {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-XX:TieredStopAtLevel=1"));
    command.addAll(options);
    command.addAll(List.of("-cp", classPath, type));
    command.addAll(List.of(words));
    return command;
  }

  /** Runs it as this user, with that group only. */
  public CommandResult run(
      String group, Map<String, String> env, List<String> words, Duration limit)
      throws InterruptedException {
    var command =
        new ArrayList<>(
            List.of("setpriv", "--reuid=" + number, "--regid=" + group, "--clear-groups"));
    command.addAll(words);
    return Processes.run(Command.of(command).withEnv(env), Deadline.after(limit));
  }

  /** Starts it as this user, on a host where everything is ready for containers without root. */
  public Process startRootless(Map<String, String> env, List<String> words, Path output) {
    var command =
        new ArrayList<>(
            List.of("unshare", "--mount", "--propagation=private", "sh", "-c", HOST, "sh"));
    command.addAll(List.of(directory.toString(), String.valueOf(number)));
    command.addAll(words);
    return Processes.start(Command.of(command).withEnv(env), output.toFile());
  }

  /**
   * What an agent of this user has started and recorded: the processes in its user namespace, and
   * those that connect its network.
   *
   * @param run the agent's run directory
   */
  public static List<ProcessIdentity> started(Path run) throws IOException {
    var found = new ArrayList<ProcessIdentity>();
    Optional<ProcessIdentity> holder = recorded(run.resolve("rootless.holder"));
    if (holder.filter(ProcessIdentity::alive).isPresent()) {
      String namespace = namespace(Path.of("/proc", String.valueOf(holder.get().pid())));
      try (Stream<Path> all = Files.list(Path.of("/proc"))) {
        all.filter(path -> path.getFileName().toString().matches("\\d+"))
            .filter(path -> namespace(path).equals(namespace))
            .map(path -> Long.parseLong(path.getFileName().toString()))
            .flatMap(pid -> ProcessIdentity.of(pid).stream())
            .forEach(found::add);
      }
    }
    for (String record : List.of("rootless.network", "pasta.pid")) {
      recorded(run.resolve(record)).ifPresent(found::add);
    }
    return found;
  }

  /** Ends exactly those. */
  public static void kill(List<ProcessIdentity> processes) throws IOException {
    for (ProcessIdentity process : processes) {
      boolean _ = process.signal(KILL);
    }
  }

  /** By a file with the number of a process, when that began, and more. */
  public static Optional<ProcessIdentity> recorded(Path file) throws IOException {
    if (!Files.exists(file)) {
      return Optional.empty();
    }
    String[] words = Files.readString(file).strip().split(" ", -1);
    return Optional.of(new ProcessIdentity(Long.parseLong(words[0]), Long.parseLong(words[1])));
  }

  /** Empty for a process that has ended. */
  private static String namespace(Path process) {
    try {
      return Files.readSymbolicLink(process.resolve("ns/user")).toString();
    } catch (IOException _) {
      return "";
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    Files.walkFileTree(
        from,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes)
              throws IOException {
            Files.createDirectories(to.resolve(from.relativize(directory).toString()));
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Path target = file.equals(from) ? to : to.resolve(from.relativize(file).toString());
            Files.copy(file, target, StandardCopyOption.REPLACE_EXISTING);
            Files.setPosixFilePermissions(target, PosixFilePermissions.fromString("rw-r--r--"));
            return FileVisitResult.CONTINUE;
          }
        });
  }
}
