package dev.zlayer.bench.pull;

import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.MadeImage;
import dev.zlayer.testkit.image.TarEntry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Makes the image that is pulled: eight layers with the mix of a real application image, the same
 * bytes in each run. A second image shares all layers but the last. Run as a program because it
 * needs more memory than what is measured should have.
 */
public final class BigImage {
  private static final int MEBI = 1 << 20;

  /** How much smaller gzip makes {@link #ordinary}. */
  private static final double RATIO = 2.27;

  private static final int VOCABULARY = 8192;

  private final SplittableRandom random = new SplittableRandom(20);
  private final byte[] vocabulary = bytes(VOCABULARY);
  private final int percent;
  private final ImageMaker maker = ImageMaker.scratch().cmd("sh");

  /** {@code percent} of 150 MB. */
  private BigImage(int percent) {
    this.percent = percent;
  }

  /** Arguments: a directory for two OCI layouts, and the size in percent. */
  public static void main(String[] arguments) throws IOException {
    Path directory = Path.of(arguments[0]);
    var image = new BigImage(Integer.parseInt(arguments[1]));
    image.shared();
    List<MadeImage.MadeLayer> shared = image.maker.make().layers();
    write(image.top("one", shared), directory.resolve("one"));
    write(image.top("two", shared), directory.resolve("two"));
  }

  private static void write(MadeImage image, Path directory) throws IOException {
    Files.createDirectories(directory);
    image.layout(directory, "1");
  }

  /** Sizes are those of the packed layers: a system, languages, libraries, data. */
  private void shared() {
    maker.layer(files("usr/share", 28, 14_000));
    maker.layer(files("usr/lib/python3", 20, 9_000));
    maker.layer(withBig("usr/lib/jvm", 30, files("usr/lib/jvm", 14, 90_000)));
    maker.layer(files("srv/templates", 5, 6_000));
    maker.layer(List.of(TarEntry.file("srv/model.bin", bytes(20 * MEBI / 100 * percent))));
    maker.layer(files("usr/lib/x86_64-linux-gnu", 16, 60_000));
    maker.layer(files("srv/node_modules", 15, 5_000));
  }

  /** The last layer changes, removes and links what lies below. */
  private MadeImage top(String name, List<MadeImage.MadeLayer> below) {
    ImageMaker image = ImageMaker.scratch().cmd("sh");
    below.forEach(layer -> image.blobLayer(layer.blob(), layer.tar(), layer.diffId()));
    List<TarEntry> entries = files("srv/" + name, 2, 20_000);
    entries.add(TarEntry.whiteout("usr/share/d0/f1"));
    entries.add(TarEntry.symlink("srv/current", name));
    return image.layer(entries).make();
  }

  private List<TarEntry> withBig(String directory, int megabytes, List<TarEntry> entries) {
    entries.add(TarEntry.file(directory + "/modules", ordinary(unpacked(megabytes))));
    return entries;
  }

  /** Files around a mean size, most of them smaller, in directories of forty. */
  private List<TarEntry> files(String directory, int megabytes, int mean) {
    var entries = new ArrayList<TarEntry>();
    long left = unpacked(megabytes);
    for (int number = 0; left > 0; number++) {
      String parent = directory + "/d" + number / 40;
      if (number % 40 == 0) {
        entries.add(TarEntry.directory(parent));
      }
      int size = (int) Math.min(left, (long) (-Math.log(1 - random.nextDouble()) * mean) + 1);
      entries.add(TarEntry.file(parent + "/f" + number, ordinary(size)));
      left -= size;
    }
    return entries;
  }

  private int unpacked(int megabytes) {
    return (int) (megabytes * (double) MEBI * RATIO / 100 * percent);
  }

  /** Known phrases and news in turn, as programs and texts have. */
  private byte[] ordinary(int size) {
    var content = new byte[size];
    for (int at = 0; at < size; ) {
      int phrase = Math.min(6 + random.nextInt(18), size - at);
      System.arraycopy(vocabulary, random.nextInt(VOCABULARY - 24), content, at, phrase);
      at += phrase;
      if (random.nextInt(10) < 4) {
        byte[] news = bytes(Math.min(1 + random.nextInt(11), size - at));
        System.arraycopy(news, 0, content, at, news.length);
        at += news.length;
      }
    }
    return content;
  }

  private byte[] bytes(int size) {
    var bytes = new byte[size];
    random.nextBytes(bytes);
    return bytes;
  }
}
