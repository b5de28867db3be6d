package dev.zlayer.runtime.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Requires(Fact.ROOT)
class RecordFileFullDiskIT {
  private static final int PAGE = 4096;

  @TempDir Path disk;

  @BeforeEach
  void mount() throws InterruptedException {
    run("mount", "-t", "tmpfs", "-o", "size=" + 8 * PAGE, "tmpfs", disk.toString());
  }

  @AfterEach
  void unmount() throws InterruptedException {
    run("umount", disk.toString());
  }

  private static void run(String... arguments) throws InterruptedException {
    Processes.check(Command.of(arguments), Deadline.after(Duration.ofSeconds(10)));
  }

  @Test
  void aChangeThatFitsOnlyInPartIsAsIfItHadNotBeen() throws Exception {
    Path path = disk.resolve("record.json");
    var file = new RecordFile<ContainerRecord>(path);
    ContainerRecord record = Examples.creating();
    file.save(record);
    long whole = Files.size(path);
    Path ballast = disk.resolve("ballast");
    Files.write(ballast, new byte[(int) (8 * PAGE - pages(whole))]);

    assertThatThrownBy(() -> file.save(record.named("n".repeat(PAGE))))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("No space left");
    assertThat(Files.size(path)).as("a part of the line").isGreaterThan(whole);
    assertThat(RecordFile.read(path, ContainerRecord.class)).contains(record);

    file.save(record.withPhase(Phase.REMOVING)); // short enough
    assertThat(RecordFile.read(path, ContainerRecord.class))
        .contains(record.withPhase(Phase.REMOVING));

    Files.delete(ballast);
    file.save(record.named("n".repeat(PAGE)));
    assertThat(RecordFile.read(path, ContainerRecord.class))
        .contains(record.named("n".repeat(PAGE)));
  }

  private static long pages(long size) {
    return (size + PAGE - 1) / PAGE * PAGE;
  }
}
