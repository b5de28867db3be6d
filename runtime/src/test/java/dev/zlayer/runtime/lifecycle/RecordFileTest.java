package dev.zlayer.runtime.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.host.linux.ProcessIdentity;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class RecordFileTest {
  private static final ContainerRecord CREATING = Examples.creating();
  private static final ContainerRecord CREATED = CREATING.withPhase(Phase.CREATED);
  private static final ContainerRecord STARTING = CREATED.starting(Examples.NOW);
  private static final ContainerRecord RUNNING =
      STARTING
          .withProcesses(
              new ContainerRecord.Processes(new ProcessIdentity(7, 70), new ProcessIdentity(8, 80)))
          .running(Examples.NOW);
  private static final ContainerRecord ENDED = RUNNING.ended(Examples.OUTCOME);

  @TempDir Path directory;
  private Path path;
  private RecordFile<ContainerRecord> file;

  @BeforeEach
  void begin() {
    path = directory.resolve("record.json");
    file = new RecordFile<>(path);
  }

  @Test
  void everyChangeIsReadBackAndIsOneShortLine() throws Exception {
    int count = 0;
    for (ContainerRecord record : List.of(CREATING, CREATED, STARTING, RUNNING, ENDED)) {
      file.save(record);
      count++;
      assertThat(read()).contains(record);
      assertThat(lines()).hasSize(count);
    }
    assertThat(lines().get(1)).isEqualTo("{\"phase\":\"CREATED\"}");
    assertThat(lines().getLast()).contains("\"processes\":null").doesNotContain("spec");
  }

  @Test
  void aChangeKeepsTheInodeAndNothingElseIsLeft() throws Exception {
    file.save(CREATING);
    Object inode = Files.getAttribute(path, "unix:ino");
    file.saveDurably(CREATED);
    file.save(STARTING);

    assertThat(Files.getAttribute(path, "unix:ino")).isEqualTo(inode);
    try (Stream<Path> files = Files.list(directory)) {
      assertThat(files).containsExactly(path);
    }
  }

  @Test
  void whatDidNotChangeIsNotWritten() throws Exception {
    file.save(CREATING);
    file.save(CREATING);

    assertThat(lines()).hasSize(1);
  }

  @Test
  void withoutAFileThereIsNoRecord() throws Exception {
    assertThat(read()).isEmpty();
  }

  @Test
  void aLastLineTornAnywhereIsIgnored() throws Exception {
    file.save(CREATING);
    file.save(STARTING);
    int before = Files.readAllBytes(path).length;
    file.save(ENDED.named("nämé"));
    byte[] whole = Files.readAllBytes(path);

    for (int length = before; length < whole.length; length++) {
      Files.write(path, Arrays.copyOf(whole, length));
      assertThat(read()).as("of %d bytes %d", whole.length, length).contains(STARTING);
    }
    Files.write(path, whole);
    assertThat(read()).contains(ENDED.named("nämé"));
  }

  @Test
  void aLastLineThatIsNotJsonIsIgnored() throws Exception {
    file.save(CREATED);
    for (String torn : List.of("\0\0\0\n", "{\"phase\":\"RUN\n", "\n", "7\n")) {
      Files.write(path, (lines().getFirst() + "\n" + torn).getBytes(StandardCharsets.UTF_8));
      assertThat(read()).contains(CREATED);
    }
  }

  @Test
  void aBrokenLineInTheMiddleIsNamed() throws Exception {
    file.save(CREATING);
    file.save(CREATED);
    String text = Files.readString(path);
    for (String after : List.of("{\"run\":1}\n", "{\"ru")) {
      Files.writeString(path, text + "{\"run\":\n" + after);
      assertThatThrownBy(this::read)
          .isInstanceOf(IOException.class)
          .hasMessageStartingWith(path + ", line 3: not JSON");
    }
  }

  @Test
  void aBrokenFirstLineIsNamed() throws Exception {
    for (String broken : List.of("", "{\"version\":2,\"i", "{\"version\":\n{\"run\":1}\n")) {
      Files.writeString(path, broken);
      assertThatThrownBy(this::read)
          .isInstanceOf(IOException.class)
          .hasMessageStartingWith(path + ", line 1: not JSON");
    }
  }

  @ParameterizedTest
  @MethodSource("versions")
  void recordsOfEveryVersionAreRead(int version) throws Exception {
    try (var frozen = getClass().getResourceAsStream("/life/record-v" + version + ".json")) {
      Files.write(path, frozen.readAllBytes());
    }
    assertThat(read()).contains(CREATED);
  }

  static IntStream versions() {
    return IntStream.rangeClosed(1, LifecycleRecord.VERSION);
  }

  @Test
  void aLaterVersionIsRefused() throws Exception {
    int later = LifecycleRecord.VERSION + 1;
    Files.writeString(path, "{\"version\":%d,\"new\":true}\n{}\n".formatted(later));

    assertThatThrownBy(this::read)
        .isInstanceOf(IOException.class)
        .hasMessageStartingWith(
            "the record of a container in %s has version %d and this program reads versions up to %d:"
                .formatted(path, later, LifecycleRecord.VERSION));
  }

  @Test
  void nothingIsEverGluedToATornLineOfAnEarlierProcess() throws Exception {
    for (String torn : List.of("", "{\"phase\":\"RUN", "{\"phase\":\"RUN\n", "{\"run\":4}")) {
      file.save(CREATING);
      Files.writeString(path, lines().getFirst() + "\n" + torn);
      ContainerRecord found = read().orElseThrow();
      assertThat(found).isEqualTo(CREATING);

      var later = new RecordFile<ContainerRecord>(path);
      later.save(CREATED);
      later.save(STARTING);
      assertThat(read()).contains(STARTING);
      assertThat(lines()).hasSize(2);
      begin();
    }
  }

  @Test
  void aLongHistoryIsWrittenAnew() throws Exception {
    file.save(CREATING);
    long longest = 0;
    boolean shrank = false;
    long before = 0;
    for (int i = 0; i < 3000; i++) {
      file.save(STARTING.named("a-rather-long-name-" + i));
      long size = Files.size(path);
      shrank |= size < before;
      longest = Math.max(longest, size);
      before = size;
    }
    assertThat(shrank).isTrue();
    assertThat(longest).isLessThan(80 * 1024);
    assertThat(read()).contains(STARTING.named("a-rather-long-name-2999"));
  }

  @Test
  void aRecordWhoseFileIsGoneIsNotMadeAgainByAChange() throws Exception {
    file.save(CREATING);
    Files.delete(path);

    assertThatThrownBy(() -> file.save(CREATED)).isInstanceOf(NoSuchFileException.class);
    assertThat(path).doesNotExist();
  }

  private Optional<ContainerRecord> read() throws IOException {
    return RecordFile.read(path, ContainerRecord.class);
  }

  private List<String> lines() throws IOException {
    return Files.readAllLines(path);
  }
}
