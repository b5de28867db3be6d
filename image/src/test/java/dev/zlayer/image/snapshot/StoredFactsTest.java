package dev.zlayer.image.snapshot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import dev.zlayer.testkit.FrozenFormat;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is stored beside a snapshot stays as the frozen example is. */
class StoredFactsTest {
  private static final Digest LAYER = Digest.parse("sha256:" + "a".repeat(64));

  @TempDir Path directory;

  @Test
  void theRecordOfASnapshotIsStoredAsItWas() throws Exception {
    Path file = directory.resolve("facts.json");
    var facts = new SnapshotFacts(true, List.of(LAYER));
    facts.write(file);
    FrozenFormat.check("snapshot-v1.json", JsonText.parse(Files.readAllBytes(file)));
    Files.write(file, FrozenFormat.read("snapshot-v1.json"));
    assertThat(SnapshotFacts.find(file)).contains(facts);
  }

  @Test
  void theLayersOfALaterVersionAreNotTakenForUnused() throws Exception {
    Path file = directory.resolve("facts.json");
    Files.writeString(file, "{\"version\":9,\"layers\":[\"%s\"],\"new\":true}".formatted(LAYER));
    assertThat(SnapshotFacts.find(file)).contains(new SnapshotFacts(true, List.of(LAYER)));
  }

  @Test
  void aDamagedRecordIsNone() throws Exception {
    Path file = directory.resolve("facts.json");
    for (String damage : List.of("", "\0\0", "{}", "{\"layers\":[\"x\"]}")) {
      Files.writeString(file, damage);
      assertThat(SnapshotFacts.find(file)).as(damage).isEmpty();
    }
  }
}
