package dev.zlayer.cli;

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

/**
 * Another user of the machine, who runs command lines. The classes are copied for them, since a
 * build and its libraries may lie in a directory that is closed to others.
 */
final class Stranger {
  static final int USER = 64_321;

  private final String classPath;

  private Stranger(String classPath) {
    this.classPath = classPath;
  }

  /** Opens the way to that directory for everybody. */
  static Stranger in(Path directory) throws IOException {
    for (Path path = directory; path.getNameCount() > 1; path = path.getParent()) {
      Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwxr-xr-x"));
    }
    Path copies = Files.createDirectories(directory.resolve("classes"));
    var places = new ArrayList<String>();
    for (String place : System.getProperty("java.class.path").split(File.pathSeparator)) {
      Path copy = copies.resolve(places.size() + place.replaceFirst(".*(\\.jar)$|.*", "$1"));
      if (Files.exists(Path.of(place))) {
        copy(Path.of(place), copy);
        places.add(copy.toString());
      }
    }
    return new Stranger(String.join(File.pathSeparator, places));
  }

  CommandResult zlayer(String group, Map<String, String> env, String... words)
      throws InterruptedException {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-XX:TieredStopAtLevel=1"));
    command.addAll(List.of("-cp", classPath, "dev.zlayer.cli.Main"));
    command.addAll(List.of(words));
    return run(group, env, command);
  }

  static CommandResult run(String group, Map<String, String> env, List<String> words)
      throws InterruptedException {
    var command =
        new ArrayList<>(
            List.of("setpriv", "--reuid=" + USER, "--regid=" + group, "--clear-groups"));
    command.addAll(words);
    return Processes.run(Command.of(command).withEnv(env), Deadline.after(Duration.ofSeconds(90)));
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
