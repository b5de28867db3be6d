package dev.zlayer.image.layer;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.Content;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.image.TarWriter;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A process with one carrier for all its virtual threads, some of which work with layers. */
@Requires(Fact.ROOT)
class UnpackOnOneCarrierIT {
  private static final int UNPACKS = 3;

  @TempDir Path directory;

  @Test
  void othersRunWhileLayersAreUnpackedAndRemoved() throws Exception {
    var result =
        Processes.run(
            Command.of(
                ProcessHandle.current().info().command().orElseThrow(),
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-Djdk.virtualThreadScheduler.parallelism=1",
                "-Djdk.virtualThreadScheduler.maxPoolSize=1",
                "-cp",
                System.getProperty("java.class.path"),
                Child.class.getName(),
                directory.toString()),
            Deadline.after(Duration.ofSeconds(60)));
    assertThat(result.stdout()).as(result.stderr()).endsWith("done\n");
  }

  /** Ends only when a virtual thread runs while others are in the middle of unpacking. */
  static final class Child {
    private static volatile boolean released;

    public static void main(String[] arguments) throws Exception {
      LayerStore store = LayerStore.open(Path.of(arguments[0]), LayerLimits.DEFAULT);
      var begun = new CountDownLatch(UNPACKS);
      List<Thread> unpacking =
          IntStream.range(0, UNPACKS)
              .mapToObj(i -> Thread.ofVirtual().start(() -> unpack(store, i, begun)))
              .toList();
      Thread other =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      begun.await();
                      released = true;
                    } catch (InterruptedException e) {
                      throw new IllegalStateException(e);
                    }
                  });
      other.join();
      for (Thread thread : unpacking) {
        thread.join();
      }
      Thread removing = Thread.ofVirtual().start(() -> remove(Path.of(arguments[0])));
      removing.join();
      System.out.println("done");
    }

    /** Both the thread that reads the blob and the one that makes files hold theirs. */
    private static void unpack(LayerStore store, int number, CountDownLatch begun) {
      byte[] tar = TarWriter.archive(List.of(TarEntry.file("f" + number, "x")));
      var blob =
          new ByteArrayInputStream(tar) {
            @Override
            public synchronized int read(byte[] into, int offset, int length) {
              begun.countDown();
              while (!released) {
                Thread.onSpinWait(); // as a native call does: the carrier is not given back
              }
              return super.read(into, offset, length);
            }
          };
      try {
        store.unpack(Content.digest(tar), (InputStream) blob, _ -> {});
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }

    private static void remove(Path directory) {
      try {
        RootedDirectory.removeTree(directory);
      } catch (java.io.IOException e) {
        throw new java.io.UncheckedIOException(e);
      }
    }
  }
}
