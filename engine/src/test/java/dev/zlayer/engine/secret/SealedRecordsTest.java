package dev.zlayer.engine.secret;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class SealedRecordsTest {
  private static final SecretKey KEY = SecretKey.of("ab".repeat(32), "the test's key");

  private final StateStore state = new MemoryStateStore();
  private final SealedRecords records = new SealedRecords(state, KEY, "certificate");

  @Test
  void aRecordComesBackAndIsNowhereInTheStore() {
    records.put("acme/example.org", "-----BEGIN PRIVATE KEY-----");

    assertThat(records.find("acme/example.org")).contains("-----BEGIN PRIVATE KEY-----");
    assertThat(records.keys()).containsExactly("acme/example.org");
    byte[] stored = state.find("certificate", "acme/example.org").orElseThrow();
    assertThat(new String(stored, StandardCharsets.ISO_8859_1)).doesNotContain("PRIVATE");
    records.remove("acme/example.org");
    assertThat(records.find("acme/example.org")).isEmpty();
  }

  @Test
  void aRecordThatWasMovedChangedOrSealedOtherwiseDoesNotOpen() {
    records.put("one", "text");
    byte[] sealed = state.find("certificate", "one").orElseThrow();
    state.commit(Change.of(new Change.Put("certificate", "two", sealed)));
    assertDamaged(records, "two");

    sealed[sealed.length - 1] ^= 1;
    state.commit(Change.of(new Change.Put("certificate", "one", sealed)));
    assertDamaged(records, "one");

    records.put("three", "text");
    assertDamaged(
        new SealedRecords(state, SecretKey.of("cd".repeat(32), "another"), "certificate"), "three");
  }

  private static void assertDamaged(SealedRecords records, String key) {
    assertThatThrownBy(() -> records.find(key))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessage("the stored certificate %s is damaged".formatted(key));
  }
}
