package dev.zlayer.image.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import dev.zlayer.image.registry.RegistryException.Problem;
import dev.zlayer.image.store.Ingest;
import dev.zlayer.testkit.image.Content;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Two megabytes in parts of 64 KiB; whatever happens, the blob is right or refused. */
class RangesAheadTest extends RegistryFixture {
  private static final int PART = 64 << 10;
  private static final int CONNECTIONS = 3;
  private double waiting;

  @Override
  RangesAhead.Division division() {
    return new RangesAhead.Division(PART, CONNECTIONS, waiting);
  }

  @Test
  void aSlowRegistryIsAskedForSeveralPartsAtOnce() throws Exception {
    var together = new CountDownLatch(CONNECTIONS);
    fake.behave(
        exchange -> {
          if (start(exchange) >= PART) {
            together.countDown();
            arrived(together); // no answer before as many have asked
          }
          return false;
        });
    fetchAndCheck();
    assertThat(together.getCount()).isZero();
    List<String> expected =
        IntStream.rangeClosed(0, (int) (layer.size() - 1) / PART)
            .mapToObj(i -> "bytes=%d-%s".formatted(i * PART, last(i)))
            .toList();
    assertThat(ranges()).containsExactlyInAnyOrderElementsOf(expected);
    assertThat(notices).isEmpty();
  }

  /** The last part is asked for without an end, as a rest is. */
  private String last(int part) {
    return (part + 1) * PART >= layer.size() ? "" : String.valueOf((part + 1) * PART - 1);
  }

  @Test
  void aRegistryThatIsFasterThanThisMachineIsReadOverOneConnection() throws Exception {
    waiting = 1.1;
    fetchAndCheck();
    assertThat(ranges()).containsExactly("bytes=0-" + (PART - 1), "bytes=" + PART + "-");
  }

  @Test
  void aRegistryWithoutRangesIsAskedOnce() throws Exception {
    fake.behave(exchange -> FakeRegistry.send(exchange, layer, null));
    fetchAndCheck();
    assertThat(fake.seen).hasSize(1);
  }

  @Test
  void aRegistryThatAnswersAnotherRangeIsReadAsAWhole() throws Exception {
    fake.behave(
        exchange ->
            range(exchange).startsWith("bytes=0-")
                && FakeRegistry.send(exchange, layer, "bytes=0-99"));
    fetchAndCheck();
    assertThat(ranges()).containsExactly("bytes=0-" + (PART - 1), "null");
  }

  /** To ask for the gap would hide it. */
  @Test
  void whatNoRegistryIsToBlameForEndsTheDownload() throws Exception {
    for (Throwable fault :
        List.of(new IllegalStateException("a fault of ours"), new StackOverflowError())) {
      RangesAhead.Source source =
          (_, _) -> {
            if (fault instanceof Error error) {
              throw error;
            }
            throw (RuntimeException) fault;
          };
      try (Ingest ingest = content.ingest(layer.digest(), layer.size());
          var ahead = new RangesAhead(ingest, division(), source)) {
        assertThatThrownBy(() -> ahead.deliver(SILENT)).isSameAs(fault);
      }
    }
  }

  @Test
  void aPartThatBreaksIsFetchedAgainFromWhereItBroke() throws Exception {
    var broken = new AtomicInteger();
    fake.behave(
        exchange -> {
          int from = start(exchange);
          return from == 2 * PART && broken.getAndIncrement() == 0
              ? FakeRegistry.cut(exchange, layer, from, from + 1000)
              : false;
        });
    fetchAndCheck();
    assertThat(ranges()).contains("bytes=%d-%d".formatted(2 * PART, 3 * PART - 1));
  }

  @Test
  void aRegistryThatDeniesFurtherConnectionsIsReadOverOne() throws Exception {
    var busy = new AtomicInteger();
    fake.behave(
        exchange -> {
          boolean second = busy.getAndIncrement() > 0;
          try {
            return second && start(exchange) > 0 ? FakeRegistry.text(exchange, 429, "") : false;
          } finally {
            busy.getAndDecrement();
          }
        });
    fetchAndCheck();
  }

  @Test
  void wrongBytesInOnePartAreNoticed() throws Exception {
    byte[] wrong = layer.bytes().clone();
    wrong[3 * PART + 5] ^= 1;
    fake.behave(
        exchange -> {
          FakeRegistry.send(exchange, new Content("x", wrong, layer.digest()));
          return true;
        });
    assertProblem(this::fetchLayer, Problem.UNSOUND, "digest");
    assertThat(temp.resolve("images/ingest")).isEmptyDirectory();
    fake.behave(_ -> false);
    fetchAndCheck();
  }

  @Test
  void whatArrivedInOrderIsResumed() throws Exception {
    try (Ingest ingest = content.ingest(layer.digest(), layer.size())) {
      ingest.append(ByteBuffer.wrap(layer.bytes(), 0, 1_000_001));
    }
    fake.behave(_ -> false);
    fetchAndCheck();
    assertThat(ranges()).first().isEqualTo("bytes=1000001-" + (1_000_000 + PART));
  }

  private void fetchAndCheck() throws Exception {
    fetchLayer();
    assertThat(content.path(layer.digest())).hasBinaryContent(layer.bytes());
    assertThat(temp.resolve("images/ingest")).isEmptyDirectory();
  }

  private List<String> ranges() {
    return fake.seen.stream().map(FakeRegistry.Seen::range).toList();
  }

  private static String range(HttpExchange exchange) {
    return String.valueOf(exchange.getRequestHeaders().getFirst("Range"));
  }

  private static int start(HttpExchange exchange) {
    String digits = range(exchange).replaceAll("bytes=([0-9]+)-.*", "$1");
    return digits.equals("null") ? 0 : Integer.parseInt(digits);
  }

  private static void arrived(CountDownLatch latch) {
    try {
      assertThat(latch.await(5, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }
}
