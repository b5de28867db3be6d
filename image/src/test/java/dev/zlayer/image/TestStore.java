package dev.zlayer.image;

import dev.zlayer.host.file.DataDir;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PullRequest;
import dev.zlayer.testkit.FakeClock;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.UnaryOperator;

/** An image store in a directory of a test, and what its last pull told. */
final class TestStore implements AutoCloseable {
  static final Platform AMD64 = Platform.parse("linux/amd64");

  final DataDir directory;
  final FakeClock clock = new FakeClock();
  final ImageStore store;
  final LocalImages images;
  final List<PullEvent> events = new CopyOnWriteArrayList<>();

  private TestStore(Path root, UnaryOperator<ImagesConfig> change) {
    this.directory = DataDir.under(root);
    this.store = ImageStore.open(directory, change.apply(ImagesConfig.of(AMD64, clock)));
    this.images = store.images();
  }

  static TestStore in(Path root) {
    return new TestStore(root, UnaryOperator.identity());
  }

  static TestStore in(Path root, UnaryOperator<ImagesConfig> change) {
    return new TestStore(root, change);
  }

  ImageInfo pull(ImageRef image, PullPolicy policy) throws InterruptedException {
    events.clear();
    return images.pull(PullRequest.of(image, policy), events::add);
  }

  List<String> notices() {
    return events.stream()
        .filter(PullEvent.Notice.class::isInstance)
        .map(event -> ((PullEvent.Notice) event).text())
        .toList();
  }

  /** The steps that were told, one letter per change: P W D V U and F for done. */
  List<PullEvent.Step> steps(dev.zlayer.oci.Digest layer) {
    var result = new java.util.ArrayList<PullEvent.Step>();
    for (PullEvent event : events) {
      if (event instanceof PullEvent.LayerProgress(var digest, var step, _, _)
          && digest.equals(layer)
          && (result.isEmpty() || result.getLast() != step)) {
        result.add(step);
      }
    }
    return result;
  }

  @Override
  public void close() {
    store.close();
  }
}
