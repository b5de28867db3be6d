package dev.zlayer.runtime.oci;

import dev.zlayer.container.Mount;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.runtime.lifecycle.ContainerState;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.Optional;
import java.util.Set;

/**
 * Brings what containers wrote to their named volumes to where it is safe: to the disk, and further
 * by a program of the operator, which knows where copies are kept.
 */
final class VolumeCopies {
  private static final Duration LIMIT = Duration.ofMinutes(10);

  private final Volumes volumes;
  private final Optional<Path> program;

  VolumeCopies(Volumes volumes, Optional<Path> program) {
    this.volumes = volumes;
    this.program = program;
  }

  /** Blocks until what was written before the call is in the copies. */
  void sync(ContainerState state) throws InterruptedException {
    for (String name : writable(state)) {
      Path directory = volumes.directory(name);
      flush(name, directory);
      if (program.isPresent()) {
        copy(program.get(), name, directory);
      }
    }
  }

  private static Set<String> writable(ContainerState state) {
    var names = new LinkedHashSet<String>();
    for (Mount mount : state.record().spec().fileSystem().mounts()) {
      if (mount instanceof Mount.Named(var name, _, var readOnly, _) && !readOnly) {
        names.add(name);
      }
    }
    return names;
  }

  private static void flush(String name, Path directory) {
    try (var opened = RootedDirectory.open(directory)) {
      opened.sync();
    } catch (IOException e) {
      throw new AgentException.Internal(
          "volume %s cannot be written to the disk: %s".formatted(name, e.getMessage()), e);
    }
  }

  private static void copy(Path program, String name, Path directory) throws InterruptedException {
    Command command = Command.of(program.toString(), name, directory.toString());
    CommandResult result = Processes.run(command, Deadline.after(LIMIT));
    if (!result.success()) {
      throw new AgentException.Internal(
          "volume %s was not copied: %s exited with %d: %s"
              .formatted(name, program, result.code(), result.lastLine()));
    }
  }
}
