package dev.zlayer.image.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.host.file.DataDir;
import dev.zlayer.image.manifest.InvalidImageException;
import dev.zlayer.oci.Digest;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class IngestTest {
  private static final byte[] HELLO = "hello world".getBytes(StandardCharsets.US_ASCII);
  private static final Digest DIGEST = Hashes.sha256(HELLO);

  @TempDir Path temp;
  private DiskContentStore store;

  @BeforeEach
  void open() throws IOException {
    store = DiskContentStore.open(DataDir.under(temp));
  }

  private static ByteBuffer part(int from, int to) {
    return ByteBuffer.wrap(HELLO, from, to - from);
  }

  @Test
  void nothingIsVisibleBeforeTheCommit() throws Exception {
    try (Ingest ingest = store.ingest(DIGEST, HELLO.length)) {
      ingest.append(part(0, 11));
      assertThat(store.has(DIGEST)).isFalse();
      ingest.commit();
      assertThat(store.has(DIGEST)).isTrue();
    }
    assertThat(store.list()).containsExactly(DIGEST);
    assertThat(store.partials()).isEmpty();
  }

  @Test
  void refusesMoreAndOtherContent() throws Exception {
    try (Ingest ingest = store.ingest(DIGEST, HELLO.length)) {
      ingest.append(part(0, 8));
      assertThatThrownBy(() -> ingest.append(part(0, 8))).isInstanceOf(InvalidImageException.class);
      assertThatThrownBy(ingest::commit).hasMessageContaining("8 bytes instead of 11");
      ingest.append(part(0, 3));
      assertThatThrownBy(ingest::commit).hasMessageContaining("has the digest");
      assertThat(ingest.position()).isZero();
    }
    assertThat(store.has(DIGEST)).isFalse();
    assertThat(store.partials()).isEmpty();
  }

  @Test
  void aFollowerReadsWhatArrivesAndEndsWithTheCommit() throws Exception {
    try (Ingest first = store.ingest(DIGEST, HELLO.length)) {
      first.append(part(0, 4));
    }
    try (Ingest ingest = store.ingest(DIGEST, HELLO.length);
        InputStream follower = ingest.follow();
        var scope = new TaskScope("follow")) {
      assertThat(ingest.position()).isEqualTo(4);
      var read = scope.fork(follower::readAllBytes);
      ingest.append(part(4, 8));
      ingest.append(part(8, 11));
      ingest.commit();
      scope.join();
      assertThat(read.result()).isEqualTo(HELLO);
    }
  }

  @Test
  void aFollowerLearnsThatItReadNonsense() throws Exception {
    try (Ingest ingest = store.ingest(DIGEST, HELLO.length)) {
      ingest.append(part(0, 4));
      try (InputStream follower = ingest.follow()) {
        assertThat(follower.readNBytes(4)).hasSize(4);
        ingest.restart();
        assertThatThrownBy(follower::read).isInstanceOf(IOException.class);
      }
      InputStream late = ingest.follow();
      ingest.close();
      assertThatThrownBy(late::read).isInstanceOf(IOException.class);
      late.close();
    }
  }

  @Test
  void openingSweepsWhatCannotBeResumed() throws Exception {
    Files.writeString(temp.resolve("images/ingest/put123.tmp"), "left");
    try (Ingest ingest = store.ingest(DIGEST, HELLO.length)) {
      ingest.append(part(0, 4));
    }
    store = DiskContentStore.open(DataDir.under(temp));
    assertThat(temp.resolve("images/ingest").toFile().list()).hasSize(1);
    assertThat(store.partials()).containsExactly(DIGEST);
  }
}
