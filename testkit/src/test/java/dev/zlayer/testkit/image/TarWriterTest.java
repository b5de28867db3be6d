package dev.zlayer.testkit.image;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TarWriterTest {
  @Test
  void tarReadsEveryKindOfEntry() throws InterruptedException {
    CommandResult listed =
        list(
            TarEntry.directory("d"),
            TarEntry.file("d/f", "hello").withMode(04755).withOwner(1000, 3_000_000),
            TarEntry.symlink("d/s", "../f"),
            TarEntry.hardLink("d/h", "d/f"),
            TarEntry.fifo("d/p"),
            TarEntry.characterDevice("d/null", 1, 3),
            TarEntry.blockDevice("d/loop", 7, 259),
            TarEntry.whiteout("d/gone"),
            TarEntry.opaque("d"));
    assertThat(listed.success()).as(listed.stderr()).isTrue();
    assertThat(listed.stdout().lines().map(line -> line.replaceAll(" +", " ")))
        .containsExactly(
            "drwxr-xr-x 0/0 0 2020-01-02 03:04:05 d",
            "-rwsr-xr-x 1000/3000000 5 2020-01-02 03:04:05 d/f",
            "lrwxrwxrwx 0/0 0 2020-01-02 03:04:05 d/s -> ../f",
            "hrw-r--r-- 0/0 0 2020-01-02 03:04:05 d/h link to d/f",
            "prw-r--r-- 0/0 0 2020-01-02 03:04:05 d/p",
            "crw-rw-rw- 0/0 1,3 2020-01-02 03:04:05 d/null",
            "brw-rw---- 0/0 7,259 2020-01-02 03:04:05 d/loop",
            "-rw-r--r-- 0/0 0 2020-01-02 03:04:05 d/.wh.gone",
            "-rw-r--r-- 0/0 0 2020-01-02 03:04:05 d/.wh..wh..opq");
  }

  /** Lengths around those where the length of a pax record changes its own number of digits. */
  @ParameterizedTest
  @ValueSource(ints = {90, 91, 92, 93, 99, 100, 101, 980, 985, 986, 987, 988, 990, 995, 1000})
  void longNamesAndTargetsSurvive(int length) throws InterruptedException {
    String name = "n".repeat(length);
    CommandResult listed = list(TarEntry.symlink(name, "t".repeat(length)));
    assertThat(listed.stderr()).isEmpty();
    assertThat(listed.stdout()).endsWith(name + " -> " + "t".repeat(length) + "\n");
  }

  @Test
  void paxHoldsWhatUstarCannot() throws InterruptedException {
    CommandResult listed =
        list(
            TarEntry.file("später", "x")
                .withModified(Instant.parse("2021-01-01T00:00:00.123456789Z"))
                .withXattr("user.note", "v".getBytes(StandardCharsets.UTF_8)));
    assertThat(listed.stdout())
        .as("the star marks attributes")
        .startsWith("-rw-r--r--*")
        .contains("00:00:00.123456789", "ter");
  }

  @Test
  void aBadChecksumIsBad() throws InterruptedException {
    assertThat(list(TarEntry.file("f", "x").withBadChecksum()).success()).isFalse();
  }

  @Test
  void aDeclaredSizeBeyondTheEndIsSeen() throws InterruptedException {
    CommandResult listed = list(TarEntry.file("f", "x").withDeclaredSize(1L << 40));
    assertThat(listed.stdout()).contains(Long.toString(1L << 40));
    assertThat(listed.success()).isFalse();
  }

  private static CommandResult list(TarEntry... entries) throws InterruptedException {
    return Processes.run(
        Command.of("tar", "--numeric-owner", "--full-time", "--utc", "--xattrs", "-tvvf", "-")
            .withInput(TarWriter.archive(List.of(entries))),
        Deadline.after(Duration.ofSeconds(20)));
  }
}
