package dev.zlayer.runtime.composite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.oci.ImageRef;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileDispatchRecordsTest {
  private static final DispatchRecord ONE = record(1, "oci");
  private static final DispatchRecord TWO = record(2, "wasm");

  @TempDir Path directory;

  @Test
  void aLaterProcessFindsWhatIsKeptAndNotWhatWasDeleted() throws Exception {
    var records = FileDispatchRecords.open(directory);
    records.save(ONE);
    records.save(TWO);
    records.delete(ONE.id());
    records.delete(ONE.id());
    assertThat(records.load()).containsExactly(TWO);
    assertThat(later()).containsExactly(TWO);
    records.save(record(1, "docker"));
    assertThat(later()).containsExactly(TWO, record(1, "docker"));
    assertThat(files()).hasSize(1);
  }

  @Test
  void aLastLineTornAnywhereLeavesTheOthers() throws Exception {
    var records = FileDispatchRecords.open(directory);
    records.save(ONE);
    Path file = files().getFirst();
    int before = Files.readAllBytes(file).length;
    records.save(TWO);
    byte[] whole = Files.readAllBytes(file);

    for (int length = before; length < whole.length - 1; length++) {
      Files.write(file, Arrays.copyOf(whole, length));
      assertThat(later()).containsExactly(ONE);
    }
    Files.write(file, Arrays.copyOf(whole, before + 5));
    FileDispatchRecords.open(directory).save(record(3, "oci"));
    assertThat(later()).containsExactly(ONE, record(3, "oci"));
  }

  @Test
  void linesOfALaterVersionAreKeptForTheProgramThatWroteThem() throws Exception {
    FileDispatchRecords.open(directory).save(ONE);
    Path file = files().getFirst();
    String own = "\"version\":" + DispatchRecord.FORMAT.version();
    String two = JsonText.print(RecordJson.write(TWO)).replace(own, "\"version\":99");
    assertThat(two).contains("\"version\":99");
    String odd = "{\"version\":98,\"id\":\"of another shape\"}";
    Files.writeString(file, Files.readString(file) + two + "\n" + odd + "\n");

    var records = FileDispatchRecords.open(directory);
    assertThat(records.load()).containsExactly(ONE);
    records.save(record(3, "oci"));
    records.delete(ONE.id());
    records.delete(record(3, "oci").id());
    assertThat(Files.readAllLines(file)).contains(two, odd);
    var again = FileDispatchRecords.open(directory);
    again.delete(TWO.id());
    assertThat(Files.readAllLines(file)).doesNotContain(two).contains(odd);
  }

  @Test
  void whatIsRecordedOfOneAndOfAllIsBounded() {
    var records = FileDispatchRecords.open(directory);
    assertThatThrownBy(() -> records.save(large(1, 260 << 10)))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("at most 262144");
    assertThatThrownBy(
            () -> {
              for (int i = 1; i < 100; i++) {
                records.save(large(i, 200 << 10));
              }
            })
        .isInstanceOf(AgentException.Busy.class)
        .hasMessageContaining("remove some containers");
    assertThat(records.full()).isPresent();
    assertThat(FileDispatchRecords.open(directory).full()).isPresent();
    records.delete(large(1, 1).id());
    records.delete(large(2, 1).id());
    assertThat(records.full()).isEmpty();
    records.save(ONE);
  }

  private static DispatchRecord large(int number, int bytes) {
    DispatchRecord small = record(number, "oci");
    return DispatchRecord.of(
        small.id(), "oci", small.spec().withLabels(Map.of("large", "x".repeat(bytes))));
  }

  @Test
  void theFileDoesNotGrowWithWhatIsGone() throws Exception {
    var records = FileDispatchRecords.open(directory);
    records.save(ONE);
    for (int i = 2; i < 2000; i++) {
      records.save(record(i, "oci"));
      records.delete(record(i, "oci").id());
    }
    assertThat(Files.size(files().getFirst())).isLessThan(300 * 1024);
    assertThat(later()).containsExactly(ONE);
  }

  @Test
  void withoutContainersTheFileIsEmpty() throws Exception {
    var records = FileDispatchRecords.open(directory);
    records.save(ONE);
    records.save(TWO);
    records.delete(ONE.id());
    records.delete(TWO.id());
    assertThat(files().getFirst()).isEmptyFile();
    assertThat(later()).isEmpty();
    records.save(TWO);
    assertThat(later()).containsExactly(TWO);
  }

  @Test
  void manyAtOnceLoseNothing() throws Exception {
    var records = FileDispatchRecords.open(directory);
    IntStream.rangeClosed(1, 400)
        .parallel()
        .forEach(
            i -> {
              records.save(record(i, "oci"));
              if (i % 2 == 0) {
                records.delete(record(i, "oci").id());
              }
            });

    assertThat(later()).hasSize(200).allMatch(record -> record.id().replica() % 2 == 1);
  }

  private List<DispatchRecord> later() {
    return FileDispatchRecords.open(directory).load();
  }

  private List<Path> files() throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.toList();
    }
  }

  private static DispatchRecord record(int replica, String runtime) {
    return DispatchRecord.of(
        ContainerId.of("shop", "web", replica),
        runtime,
        ContainerSpec.of(ImageRef.parse("alpine")));
  }
}
