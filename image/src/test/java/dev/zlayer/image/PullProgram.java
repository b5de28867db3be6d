package dev.zlayer.image;

import dev.zlayer.host.file.DataDir;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PullRequest;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Pulls in a process of its own: {@code DIRECTORY IMAGE [STEP COUNT]}. With a step it prints {@code
 * reached} at the COUNT-th event of that step and holds that thread there, to be killed.
 */
public final class PullProgram {
  private PullProgram() {}

  public static void main(String[] arguments) throws InterruptedException {
    var config = ImagesConfig.of(TestStore.AMD64, InstantSource.system());
    try (var store = ImageStore.open(DataDir.under(Path.of(arguments[0])), config)) {
      var count = new AtomicInteger();
      store
          .images()
          .pull(
              PullRequest.of(ImageRef.parse(arguments[1]), PullPolicy.ALWAYS),
              event -> {
                if (arguments.length > 2
                    && event instanceof PullEvent.LayerProgress(_, var step, _, _)
                    && step.name().equals(arguments[2])
                    && count.incrementAndGet() == Integer.parseInt(arguments[3])) {
                  System.out.println("reached");
                  holdForever();
                }
              });
    }
    System.out.println("done");
  }

  private static void holdForever() {
    try {
      new java.util.concurrent.CountDownLatch(1).await();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }
}
