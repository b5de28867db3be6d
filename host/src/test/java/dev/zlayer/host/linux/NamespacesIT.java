package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NamespacesIT {
  private static final Path OWN = Path.of("/proc/thread-self/ns/net");

  @TempDir Path directory;
  private final Namespaces namespaces = new Namespaces();

  @AfterEach
  void deleteAll() throws IOException {
    namespaces.close();
    try (var files = Files.list(directory)) {
      for (Path file : files.toList()) {
        Namespaces.delete(file);
      }
    }
  }

  @Test
  void makesANamespaceOfItsOwnWithLoopbackUp() throws Exception {
    Path file = directory.resolve("one");
    namespaces.create(file);

    assertThat(Namespaces.alive(file)).isTrue();
    String links = inside(file, "ip", "-o", "link", "show", "up");
    assertThat(links).contains("lo:").doesNotContain("eth0");
    assertThat(inside(file, "readlink", "/proc/self/ns/net"))
        .isNotEqualTo(Files.readSymbolicLink(OWN).toString());
  }

  @Test
  void deletesMountAndFileAndMayBeAskedTwice() throws IOException {
    Path file = directory.resolve("one");
    namespaces.create(file);

    Namespaces.delete(file);
    Namespaces.delete(file);

    assertThat(file).doesNotExist();
    assertThat(Files.readString(Path.of("/proc/self/mountinfo"))).doesNotContain(file.toString());
  }

  @Test
  void aPlainFileIsNoNamespaceAndIsRemoved() throws IOException {
    Path file = Files.createFile(directory.resolve("left-by-a-crash"));

    assertThat(Namespaces.alive(file)).isFalse();
    Namespaces.delete(file);

    assertThat(file).doesNotExist();
  }

  @Test
  void refusesANameThatIsTakenAndKeepsItsHolder() throws IOException {
    Path file = directory.resolve("one");
    namespaces.create(file);

    assertThatThrownBy(() -> namespaces.create(file))
        .isInstanceOf(FileAlreadyExistsException.class);
    assertThat(Namespaces.alive(file)).isTrue();
  }

  @Test
  void everyThreadStaysInTheHostsNamespaceWhileManyAreMade() throws Exception {
    String home = Files.readSymbolicLink(OWN).toString();
    List<Path> files =
        IntStream.range(0, 30).mapToObj(number -> directory.resolve("many" + number)).toList();
    List<TaskScope.Task<String>> seen = new ArrayList<>();
    try (var scope = new TaskScope("namespaces")) {
      for (Path file : files) {
        seen.add(
            scope.fork(
                () -> {
                  namespaces.create(file);
                  return Files.readSymbolicLink(OWN).toString();
                }));
      }
      scope.join();
    }
    assertThat(seen).extracting(TaskScope.Task::result).containsOnly(home);
    assertThat(files).allMatch(Namespaces::alive);
    try (var threads = Files.list(Path.of("/proc/self/task"))) {
      for (Path thread : threads.toList()) {
        try {
          assertThat(Files.readSymbolicLink(thread.resolve("ns/net"))).hasToString(home);
        } catch (NoSuchFileException _) {
          // a thread of the virtual machine that has ended since it was listed
        }
      }
    }
  }

  @Test
  void refusesWorkAfterItWasClosedAndLeavesNoFile() {
    namespaces.close();
    Path file = directory.resolve("late");

    assertThatThrownBy(() -> namespaces.create(file))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("closed");
    assertThat(file).doesNotExist();
  }

  @Test
  void deletesALinkAndItsPeer() throws Exception {
    String name = "zl%x".formatted(ProcessHandle.current().pid());
    Processes.check(
        Command.of("ip", "link", "add", name, "type", "veth", "peer", "name", name + "p"),
        Deadline.after(Duration.ofSeconds(10)));
    try {
      assertThat(Links.names()).contains(name, name + "p");
    } finally {
      Links.delete(name);
    }
    Links.delete(name);
    assertThat(Links.exists(name)).isFalse();
    assertThat(Links.names()).doesNotContain(name, name + "p");
  }

  private static String inside(Path namespace, String... command) throws InterruptedException {
    var arguments = new ArrayList<>(List.of("nsenter", "--net=" + namespace));
    arguments.addAll(List.of(command));
    return Processes.check(Command.of(arguments), Deadline.after(Duration.ofSeconds(10)))
        .stdout()
        .strip();
  }
}
