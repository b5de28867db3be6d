package dev.zlayer.host.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** The program is {@code readlink}, which is asked from which file it was started. */
@EnabledOnOs(OS.LINUX)
@Timeout(60)
class SealedProgramTest {
  private static final Duration LIMIT = Duration.ofSeconds(20);

  @TempDir private Path directory;
  private Path tool;
  private SealedProgram program;

  @BeforeEach
  void open() throws IOException {
    tool = directory.toRealPath().resolve("tool-" + directory.getFileName());
    install("/usr/bin/readlink");
    program = SealedProgram.of(tool);
  }

  @AfterEach
  void close() {
    program.close();
  }

  @Test
  void itIsStartedFromOneCopyWhichIsGoneWhenClosed() throws Exception {
    assertThat(startedFrom()).isEqualTo("/memfd:" + tool.getFileName() + " (deleted)");
    List<Path> first = copies();
    assertThat(first).hasSize(1);
    assertThat(startedFrom()).startsWith("/memfd:");
    assertThat(copies()).isEqualTo(first);

    program.close();
    assertThat(startedFrom()).isEqualTo(tool.toString());
    assertThat(copies()).isEmpty();
  }

  @Test
  void nobodyCanChangeTheCopy() throws Exception {
    String before = startedFrom();
    Path copy = copies().getFirst();
    try (var channel = FileChannel.open(copy, StandardOpenOption.WRITE)) {
      assertThatThrownBy(() -> channel.write(ByteBuffer.wrap(new byte[] {1}), 0))
          .isInstanceOf(IOException.class);
      assertThatThrownBy(() -> channel.write(ByteBuffer.wrap(new byte[] {1}), channel.size()))
          .isInstanceOf(IOException.class);
      assertThatThrownBy(() -> channel.truncate(10)).isInstanceOf(IOException.class);
    }
    assertThat(Files.readAllBytes(copy)).isEqualTo(Files.readAllBytes(tool));
    assertThat(startedFrom()).isEqualTo(before);
  }

  @Test
  void anotherFileIsCopiedAnew() throws Exception {
    assertThat(startedFrom()).startsWith("/memfd:");
    install("/usr/bin/echo"); // prints what it is asked
    assertThat(startedFrom()).isEqualTo("/proc/self/exe");
    assertThat(copies()).hasSize(1);
    install("/usr/bin/readlink");
    assertThat(startedFrom()).startsWith("/memfd:");
  }

  @Test
  void oneThatMayNotBeExecutedAnyMoreIsNotMadeAgain() throws Exception {
    assertThat(startedFrom()).startsWith("/memfd:");
    Files.setPosixFilePermissions(
        copies().getFirst(), PosixFilePermissions.fromString("rw-rw-r--"));
    assertThat(startedFrom()).isEqualTo(tool.toString());
    assertThat(startedFrom()).isEqualTo(tool.toString());
    assertThat(copies()).isEmpty();
    install("/usr/bin/readlink");
    assertThat(startedFrom()).as("another version of it").startsWith("/memfd:");
  }

  @Test
  void oneThatSomebodyHasOpenForWritingHoldsNothingUp() throws Exception {
    assertThat(startedFrom()).startsWith("/memfd:");
    try (var _ = FileChannel.open(copies().getFirst(), StandardOpenOption.WRITE)) {
      assertThat(startedFrom())
          .isIn(tool.toString(), "/memfd:" + tool.getFileName() + " (deleted)");
    }
  }

  @Test
  void itsChildrenHaveNothingElseOfThisProcess() throws Exception {
    install("/usr/bin/ls");
    assertThat(run("/proc/self/fd").lines()).containsExactly("0", "1", "2", "3", "4"); // ls reads 4
  }

  @Test
  void programsThatDoNotWorkAsACopyAreStartedFromDisk() throws Exception {
    String script = "#!/bin/sh\nreadlink \"$0\" || echo \"$0\"\n";
    Files.writeString(tool, script);
    assertThat(run()).isEqualTo(tool.toString());
    install("/bin/false"); // ends with 1 whatever it is asked
    var result = Processes.run(command(), Deadline.after(LIMIT));
    assertThat(result.code()).isEqualTo(1);
    assertThat(copies()).isEmpty();
  }

  @Test
  void oneThatIsNotThereFailsAsItDoesWithoutACopy() throws Exception {
    assertThat(startedFrom()).startsWith("/memfd:");
    Files.delete(tool);
    assertThatThrownBy(this::startedFrom)
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("no such file");
  }

  @Test
  void aCommandThatBeginsWithAnotherProgramStartsThatOne() throws Exception {
    Command wrapped = command("/proc/self/exe").withArguments(List.of("/bin/echo", "other"));
    assertThat(Processes.check(wrapped, Deadline.after(LIMIT)).stdout()).isEqualTo("other\n");
    assertThat(copies()).isEmpty();
  }

  private void install(String from) throws IOException {
    Path fresh = directory.resolve("fresh");
    Files.copy(Path.of(from).toRealPath(), fresh, StandardCopyOption.COPY_ATTRIBUTES);
    Files.move(fresh, tool, StandardCopyOption.ATOMIC_MOVE);
  }

  private String startedFrom() throws InterruptedException {
    return run("/proc/self/exe");
  }

  private String run(String... words) throws InterruptedException {
    return Processes.check(command(words), Deadline.after(LIMIT)).stdout().strip();
  }

  private Command command(String... words) {
    var arguments = new ArrayList<>(List.of(tool.toString()));
    arguments.addAll(Arrays.asList(words));
    return Command.of(arguments).withSealed(Optional.of(program));
  }

  /** Those of this test that this process has open. */
  private List<Path> copies() throws IOException {
    try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
      return open.filter(this::isCopy).toList();
    }
  }

  private boolean isCopy(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor)
          .toString()
          .startsWith("/memfd:" + tool.getFileName());
    } catch (IOException _) {
      return false; // the one that lists them
    }
  }
}
