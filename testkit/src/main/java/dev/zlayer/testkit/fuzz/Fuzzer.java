package dev.zlayer.testkit.fuzz;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Has damaged input read: it is understood, or refused in the declared way, within bounds of
 * processor time and memory. Always the same cases; {@code -Dzlayer.fuzz.seconds=600} tries others
 * for longer. A failure prints the seed and the input; inputs that once failed are kept as
 * resources of the test and tried first.
 */
public final class Fuzzer {
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  /** Of the processor, so that a busy machine changes nothing. */
  private static final Duration TIME = Duration.ofSeconds(2);

  private static final long MEMORY = 256L << 20;

  private final String corpus;
  private final int cases;
  private final List<byte[]> sound;
  private final Damage damage;
  private final Predicate<Throwable> refusal;
  private final Reader reader;

  /** What is tried. */
  @FunctionalInterface
  public interface Reader {
    void read(byte[] input) throws Exception;
  }

  /**
   * Nothing is tried yet.
   *
   * @param corpus the directory of resources with inputs that once failed
   * @param cases how many are tried at least
   * @param sound what can be read
   * @param words what means something in this format
   * @param refusal whether that is how callers expect bad input to be refused
   */
  public Fuzzer(
      String corpus,
      int cases,
      List<byte[]> sound,
      List<String> words,
      Predicate<Throwable> refusal,
      Reader reader) {
    this.corpus = corpus;
    this.cases = cases;
    this.sound = List.copyOf(sound);
    this.damage = new Damage(words);
    this.refusal = refusal;
    this.reader = reader;
  }

  public static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** Sound input is understood, and everything else is too or is refused. */
  public void run() {
    for (byte[] input : sound) {
      try {
        reader.read(input);
      } catch (Exception e) {
        fail("sound input is refused: " + shown(input), e);
      }
    }
    kept().forEach(input -> check(input, "kept"));
    long seconds = Long.getLong("zlayer.fuzz.seconds", 0);
    long seed = Long.getLong("zlayer.fuzz.seed", seconds == 0 ? 1 : System.nanoTime());
    long end = System.nanoTime() + Duration.ofSeconds(seconds).toNanos();
    var random = new Random(seed);
    for (int done = 0; done < cases || System.nanoTime() < end; done++) {
      byte[] input = damage.apply(sound.get(random.nextInt(sound.size())), random);
      check(input, "seed %d, case %d".formatted(seed, done));
    }
  }

  private void check(byte[] input, String which) {
    long time = THREADS.getCurrentThreadCpuTime();
    long memory = THREADS.getCurrentThreadAllocatedBytes();
    try {
      reader.read(input);
    } catch (Throwable e) {
      if (!refusal.test(e)) {
        fail("%s, %s: %s".formatted(corpus, which, shown(input)), e);
      }
    }
    assertThat(THREADS.getCurrentThreadCpuTime() - time)
        .as("nanoseconds for %s, %s: %s", corpus, which, shown(input))
        .isLessThan(TIME.toNanos());
    assertThat(THREADS.getCurrentThreadAllocatedBytes() - memory)
        .as("bytes allocated for %s, %s: %s", corpus, which, shown(input))
        .isLessThan(MEMORY);
  }

  private static String shown(byte[] input) {
    return HexFormat.of().formatHex(input);
  }

  /** Each file is an input. */
  private List<byte[]> kept() {
    URL directory = Thread.currentThread().getContextClassLoader().getResource(corpus);
    assertThat(directory).as("resources " + corpus).isNotNull();
    var inputs = new ArrayList<byte[]>();
    try (Stream<Path> files = Files.list(Path.of(Objects.requireNonNull(directory).toURI()))) {
      for (Path file : files.sorted().toList()) {
        try (InputStream in = Files.newInputStream(file)) {
          inputs.add(in.readAllBytes());
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
    return inputs;
  }
}
