package dev.zlayer.engine.secret;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.zlayer.container.Mount;
import dev.zlayer.spec.security.SecretFileSpec;
import dev.zlayer.spec.value.SecretRef;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SecretFilesTest {
  private static final Path MEMORY = Path.of("/dev/shm");
  private static final SecretKey KEY = SecretKey.of("ab".repeat(32), "the test's key");

  private Path directory = MEMORY;
  private SecretFiles files;

  @BeforeEach
  void open() throws IOException {
    assumeTrue(Files.isDirectory(MEMORY), "there is no " + MEMORY);
    directory = Files.createTempDirectory(MEMORY, "zlayer-secrets");
    files = SecretFiles.open(directory, KEY);
  }

  @AfterEach
  void destroy() throws IOException {
    if (!directory.equals(MEMORY)) {
      files.destroy();
    }
  }

  @Test
  void aSecretIsAFileWithTheModeItAsksFor() throws IOException {
    var bind = (Mount.Bind) files.file(spec("db/password", Optional.of(0400)), "valuable");

    assertThat(bind.target()).isEqualTo("/run/secrets/db.password");
    assertThat(bind.readOnly()).isTrue();
    assertThat(bind.source()).hasContent("valuable");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(bind.source())))
        .isEqualTo("r--------");
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(directory)))
        .isEqualTo("rwx------");
  }

  @Test
  void theSameValueIsTheSameMountAndAnotherValueIsNot() {
    SecretFileSpec spec = spec("password", Optional.empty());
    Mount first = files.file(spec, "one");

    assertThat(files.file(spec, "one")).isEqualTo(first);
    assertThat(files.file(spec, "two")).isNotEqualTo(first);
  }

  @Test
  void pruningLeavesWhatIsUsed() {
    Mount used = files.file(spec("a", Optional.empty()), "one");
    var unused = (Mount.Bind) files.file(spec("b", Optional.empty()), "two");

    assertThat(files.prune(List.of(used))).containsExactly(unused.source());
    assertThat(((Mount.Bind) used).source()).hasContent("one");
    assertThat(unused.source()).doesNotExist();
  }

  private static SecretFileSpec spec(String name, Optional<Integer> mode) {
    return new SecretFileSpec(SecretRef.parse(name), Optional.empty(), mode);
  }
}
