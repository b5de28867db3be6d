package dev.zlayer.bench.pull;

import dev.zlayer.bench.Options;
import dev.zlayer.bench.engine.Tool;
import dev.zlayer.host.process.Command;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.registry.LocalRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;

/** A registry with the images of all works. */
public final class Gallery implements AutoCloseable {
  private static final int QUICK_PERCENT = 20;

  private final Options options;
  private final LocalRegistry registry = LocalRegistry.start();
  private boolean big;

  public Gallery(Options options) {
    this.options = options;
  }

  public ImageRef busybox() {
    return registry.push(ImageMaker.busybox(), "busybox:1");
  }

  /** Eight layers, 150 MB. */
  public ImageRef one() throws IOException, InterruptedException {
    pushBig();
    return registry.ref("one:1");
  }

  /** The same but for the last layer. */
  public ImageRef two() throws IOException, InterruptedException {
    pushBig();
    return registry.ref("one:2");
  }

  /** How many bytes the registry has sent since it started. */
  public long sent() {
    return registry.requests().stream().mapToLong(LocalRegistry.Request::bytes).sum();
  }

  private void pushBig() throws IOException, InterruptedException {
    if (big) {
      return;
    }
    Path images = make();
    push(images.resolve("one"), "one:1");
    push(images.resolve("two"), "one:2");
    big = true;
  }

  /** Made once; kept with what else the build makes. */
  private Path make() throws IOException, InterruptedException {
    int percent = options.size(100, QUICK_PERCENT);
    Path kept = options.project().resolve("target/bench/images-" + percent);
    if (!Files.exists(kept)) {
      Path made = options.directory().resolve("images");
      Tool.run(java(BigImage.class, List.of("-Xmx3g"), made.toString(), "" + percent));
      Files.createDirectories(kept.getParent());
      Tool.run("cp", "-r", made.toString(), kept + ".new");
      Files.move(Path.of(kept + ".new"), kept, StandardCopyOption.ATOMIC_MOVE);
    }
    return kept;
  }

  private void push(Path layout, String name) throws InterruptedException {
    Tool.run(
        "skopeo",
        "copy",
        "--quiet",
        "--dest-tls-verify=false",
        "oci:" + layout + ":1",
        "docker://" + registry.ref(name).canonical());
  }

  /** Another Java process with the same classes. */
  public static Command java(Class<?> main, List<String> options, String... arguments) {
    var words = new java.util.ArrayList<String>();
    words.add(ProcessHandle.current().info().command().orElseThrow());
    words.addAll(List.of("-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED"));
    words.addAll(options);
    words.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    words.addAll(List.of(arguments));
    return Command.of(words);
  }

  @Override
  public void close() {
    registry.close();
  }
}
