package dev.zlayer.engine.s3;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.testkit.s3.FlakyProxy;
import dev.zlayer.testkit.s3.S3Server;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Against a real server that checks signatures. */
class S3TransferTest {
  private static final String SECRET = S3Server.SECRET_KEY;
  private static final S3Transfer.Owner ROOT = new S3Transfer.Owner(0, 0);

  private static S3Server server;

  @TempDir Path directory;
  private DirectoryFiles files;

  @BeforeAll
  static void serve() throws Exception {
    server = S3Server.open("things");
  }

  @AfterAll
  static void stop() throws Exception {
    server.close();
  }

  @BeforeEach
  void files() {
    files = new DirectoryFiles(directory);
  }

  @Test
  void aTreeGoesThereAndComesBack() throws Exception {
    Path tree = Files.createDirectories(directory.resolve("data/site"));
    Files.writeString(tree.resolve("index.html"), "hello");
    Files.writeString(tree.resolve("größe & more.txt"), "odd name");
    Files.createDirectories(tree.resolve("deep/er"));
    Files.writeString(tree.resolve("deep/er/file"), "");
    Files.createLink(tree.resolve("same"), tree.resolve("index.html"));
    Files.createSymbolicLink(tree.resolve("link"), Path.of("/etc/passwd"));
    Files.createDirectories(directory.resolve("back"));

    try (S3Transfer transfer = open("things")) {
      assertThat(transfer.push(files, "/data/site", "tree"))
          .startsWith("pushed 4 objects with ")
          .contains("left out 1 that are no files: site/link");
      assertThat(transfer.pull(files, "tree/", "/back/new/place", ROOT))
          .startsWith("pulled 4 objects with ")
          .doesNotContain("without a checksum");
    }

    Path back = directory.resolve("back/new/place");
    assertThat(back.resolve("index.html")).hasContent("hello");
    assertThat(back.resolve("same")).hasContent("hello");
    assertThat(back.resolve("größe & more.txt")).hasContent("odd name");
    assertThat(back.resolve("deep/er/file")).isEmptyFile();
    assertThat(back.resolve("link")).doesNotExist();
  }

  @Test
  void aLongFileGoesInParts() throws Exception {
    byte[] content = write("big", 2 * Upload.USUAL_PART + 12_345);
    try (S3Transfer transfer = open("things");
        S3Store store = S3Store.open(location("things", SECRET, endpoint()))) {
      transfer.push(files, "/big", "large/big");
      assertThat(store.head("large/big").orElseThrow().eTag()).contains("-3");
      assertThat(transfer.pull(files, "large/big", "/again", ROOT))
          .doesNotContain("without a checksum");
    }
    assertThat(directory.resolve("again")).hasBinaryContent(content);
  }

  @Test
  void aFileGoesIntoADirectoryUnderItsOwnName() throws Exception {
    Files.writeString(directory.resolve("one.txt"), "1");
    Files.createDirectories(directory.resolve("into"));
    try (S3Transfer transfer = open("things")) {
      transfer.push(files, "/one.txt", "single/");
      transfer.pull(files, "single/one.txt", "/into", ROOT);
      transfer.pull(files, "single/one.txt", "/new/", ROOT);
    }
    assertThat(directory.resolve("into/one.txt")).hasContent("1");
    assertThat(directory.resolve("new/one.txt")).hasContent("1");
  }

  @Test
  void aBrokenConnectionIsTakenUpWhereItBroke() throws Exception {
    byte[] content = write("big", 6 << 20);
    try (S3Transfer direct = open("things")) {
      direct.push(files, "/big", "flaky");
    }
    try (var proxy = new FlakyProxy(server.port(), FlakyProxy.Fault.CUT, 3);
        S3Transfer transfer = S3Transfer.open(location("things", SECRET, proxy.endpoint()))) {
      transfer.pull(files, "flaky", "/again", ROOT);
      assertThat(proxy.faults()).isEqualTo(3);
    }
    assertThat(directory.resolve("again")).hasBinaryContent(content);
  }

  @Test
  void aConnectionThatAlwaysBreaksIsToldWithItsPlace() throws Exception {
    write("big", 20 << 20);
    try (S3Transfer direct = open("things")) {
      direct.push(files, "/big", "hopeless");
    }
    try (var proxy = new FlakyProxy(server.port(), FlakyProxy.Fault.CUT, 1_000);
        S3Transfer transfer = S3Transfer.open(location("things", SECRET, proxy.endpoint()))) {
      assertThatThrownBy(() -> transfer.pull(files, "hopeless", "/again", ROOT))
          .isInstanceOf(S3Failure.class)
          .hasMessageContaining("s3://things/hopeless broke off at byte");
    }
  }

  @Test
  void aChangedByteIsFound() throws Exception {
    write("big", 3 << 20);
    try (S3Transfer direct = open("things")) {
      direct.push(files, "/big", "changed");
    }
    try (var proxy = new FlakyProxy(server.port(), FlakyProxy.Fault.CHANGE, 1);
        S3Transfer transfer = S3Transfer.open(location("things", SECRET, proxy.endpoint()))) {
      assertThatThrownBy(() -> transfer.pull(files, "changed", "/again", ROOT))
          .isInstanceOf(S3Failure.class)
          .hasMessageContaining("checksum differs");
    }
  }

  @Test
  void aWrongSecretIsRefusedAndNotShown() throws Exception {
    Files.writeString(directory.resolve("one.txt"), "1");
    try (S3Transfer transfer = S3Transfer.open(location("things", "wrong-" + SECRET, endpoint()))) {
      assertThatThrownBy(() -> transfer.push(files, "/one.txt", "x"))
          .isInstanceOf(S3Failure.class)
          .hasMessageContaining("403")
          .hasMessageNotContaining(SECRET);
    }
  }

  @Test
  void whatIsNotThereIsNamed() throws Exception {
    Files.writeString(directory.resolve("one.txt"), "1");
    try (S3Transfer nowhere = open("no-such-bucket");
        S3Transfer transfer = open("things")) {
      assertThatThrownBy(() -> nowhere.push(files, "/one.txt", "x"))
          .isInstanceOf(S3Failure.class)
          .hasMessageContaining("NoSuchBucket");
      assertThatThrownBy(() -> transfer.pull(files, "nothing", "/x", ROOT))
          .hasMessageContaining("there is no object s3://things/nothing");
      assertThatThrownBy(() -> transfer.pull(files, "nothing/", "/x", ROOT))
          .hasMessageContaining("there is nothing at s3://things/nothing/");
      assertThatThrownBy(() -> transfer.push(files, "/missing", "x"))
          .isInstanceOf(AgentException.NotFound.class);
      assertThatThrownBy(() -> transfer.pull(files, "x", "/a/../../etc", ROOT))
          .isInstanceOf(AgentException.InvalidSpec.class);
    }
  }

  private byte[] write(String name, int size) throws IOException {
    var content = new byte[size];
    new Random(size).nextBytes(content);
    Files.write(directory.resolve(name), content);
    return content;
  }

  private static S3Transfer open(String bucket) {
    return S3Transfer.open(location(bucket, SECRET, endpoint()));
  }

  private static String endpoint() {
    return server.endpoint();
  }

  private static S3Location location(String bucket, String secret, String endpoint) {
    return new S3Location(
        bucket,
        Optional.of(endpoint),
        Optional.empty(),
        Optional.of(new S3Location.Keys(S3Server.ACCESS_KEY, secret, Optional.empty())));
  }
}
