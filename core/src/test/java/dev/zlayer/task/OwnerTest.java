package dev.zlayer.task;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(30)
class OwnerTest {
  private final Supervisor supervisor = new Supervisor();
  private final Time time = new Time();
  private final List<Ledger> opened = new CopyOnWriteArrayList<>();
  private final List<Integer> durable = new CopyOnWriteArrayList<>();
  private final AtomicInteger unsaved = new AtomicInteger();
  private volatile boolean diesInRound;
  private volatile boolean undoes = true;
  private final Owner<Ledger> owner =
      Owner.of("the ledger", time, supervisor, (_, restarts) -> new Ledger(restarts));

  @AfterEach
  void close() {
    owner.close();
  }

  @Test
  void answersAfterTheRoundThatMadeItDurable() throws InterruptedException {
    owner.start();
    assertThat(owner.<Integer>ask(ledger -> ledger.put(1))).isEqualTo(1);
    assertThat(durable).containsExactly(1);
    owner.tell(ledger -> ledger.put(2));
    assertThat(owner.<Integer>ask(ledger -> ledger.put(3))).isEqualTo(3);
    assertThat(durable).containsExactly(1, 2, 3);
  }

  @Test
  void aBadMessageSpoilsNeitherTheOthersNorTheirReplies() throws InterruptedException {
    List<CompletableFuture<Object>> replies = askedTogether(5, i -> i == 2 ? bad() : i);
    for (int i = 0; i < 5; i++) {
      if (i == 2) {
        assertThat(failure(replies.get(i)))
            .isInstanceOf(AgentException.Internal.class)
            .hasMessageContaining("a fault in the ledger: java.lang.IllegalStateException: bad");
      } else {
        assertThat(replies.get(i).join()).isEqualTo(i);
      }
    }
    assertThat(durable).containsExactlyInAnyOrder(0, 1, 3, 4);
    assertThat(opened).hasSize(1);
  }

  @Test
  void anErrorInAMessageIsAnsweredToo() throws InterruptedException {
    owner.start();
    assertThatThrownBy(
            () ->
                owner.ask(
                    _ -> {
                      throw new OutOfMemoryError("injected");
                    }))
        .hasMessageContaining("OutOfMemoryError: injected");
    assertThat(owner.<Integer>ask(ledger -> ledger.put(1))).isEqualTo(1);
  }

  @Test
  void whatCannotBeMadeDurableIsRefusedAlone() throws InterruptedException {
    unsaved.set(3);
    List<CompletableFuture<Object>> replies = askedTogether(5, i -> i);
    assertThat(failure(replies.get(3))).isInstanceOf(AgentException.Configuration.class);
    for (int i : new int[] {0, 1, 2, 4}) {
      assertThat(replies.get(i).join()).isEqualTo(i);
    }
    assertThat(durable).containsExactlyInAnyOrder(0, 1, 2, 4);
  }

  @Test
  void aReportThatCannotBeMadeDurableIsRepeatedAndThenReplaced() throws InterruptedException {
    unsaved.set(7);
    owner.start();
    int answer = owner.report(ledger -> ledger.put(7), failure -> ledger -> ledger.put(70)).await();
    assertThat(answer).isEqualTo(70);
    assertThat(durable).containsExactly(70);
  }

  @Test
  void aReportWaitsUntilItCanBeMadeDurable() throws InterruptedException {
    unsaved.set(Integer.MAX_VALUE);
    owner.start();
    int answer = owner.report(ledger -> ledger.put(7), _ -> ledger -> ledger.put(70)).await();
    assertThat(answer).isEqualTo(7);
    assertThat(durable).containsExactly(7);
    assertThat(opened.getFirst().refusals).isEqualTo(6);
  }

  @Test
  void aStateThatDiesIsOpenedAnewAndTheOthersAreAppliedToTheNextOne() throws InterruptedException {
    undoes = false;
    List<CompletableFuture<Object>> replies = askedTogether(4, i -> i == 1 ? bad() : i);
    assertThat(replies.get(0).join()).isEqualTo(0);
    assertThat(failure(replies.get(1))).hasMessageContaining("bad");
    assertThat(replies.get(2).join()).isEqualTo(2);
    assertThat(replies.get(3).join()).isEqualTo(3);
    assertThat(opened).extracting(ledger -> ledger.restarts).containsExactly(0, 1);
    assertThat(opened.getFirst().closed).isTrue();
    assertThat(status().restarts()).isEqualTo(1);
    assertThat(status().working()).isTrue();
  }

  @Test
  void afterThreeRestartsTheSupervisorIsToldTheReason() throws InterruptedException {
    var told = new CountDownLatch(1);
    supervisor.onFailure(told::countDown);
    diesInRound = true;
    owner.start();
    assertThat(told.await(20, TimeUnit.SECONDS)).isTrue();
    assertThat(supervisor.failure())
        .contains("the ledger died 4 times, last of java.lang.StackOverflowError: injected");
    assertThat(opened).extracting(ledger -> ledger.restarts).containsExactly(0, 1, 2, 3);
    assertThat(status().condition()).isEqualTo(Supervisor.Condition.FAILED);
    assertThatThrownBy(() -> owner.ask(ledger -> ledger.put(1)))
        .hasMessageContaining("the ledger failed: java.lang.StackOverflowError: injected");
  }

  @Test
  void deathsThatAreLongAgoDoNotCount() throws InterruptedException {
    undoes = false;
    owner.start();
    for (int i = 0; i < 8; i++) {
      assertThatThrownBy(() -> owner.ask(_ -> bad())).hasMessageContaining("bad");
      time.advance(Duration.ofMinutes(6));
    }
    assertThat(owner.<Integer>ask(ledger -> ledger.put(1))).isEqualTo(1);
    assertThat(supervisor.failure()).isEmpty();
  }

  @Test
  void everySpawnedThreadReportsAnOutcome() throws InterruptedException {
    owner.start();
    var outcomes = new CopyOnWriteArrayList<String>();
    owner.spawn("well", () -> _ -> outcomes.add("well"), e -> _ -> outcomes.add(e.getMessage()));
    owner.spawn("refused", () -> throwing(new AgentException.InvalidSpec("no")), failed(outcomes));
    owner.spawn("faulty", () -> throwing(new IllegalStateException("oops")), failed(outcomes));
    owner.spawn("worse", () -> throwing(new StackOverflowError("deep")), failed(outcomes));
    Thread cancelled =
        owner.spawn(
            "cancelled",
            () -> {
              new CountDownLatch(1).await();
              return _ -> {};
            },
            failed(outcomes));
    cancelled.interrupt();
    await(() -> outcomes.size() == 5);
    assertThat(outcomes)
        .containsExactlyInAnyOrder(
            "well",
            "no",
            "a fault in faulty: java.lang.IllegalStateException: oops",
            "a fault in worse: java.lang.StackOverflowError: deep",
            "cancelled was interrupted");
    assertThat(owner.busy()).isFalse();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aSpawnedThreadThatWaitsForAnAnswerHoldsUpNeitherTheEndNorARestart(boolean restart)
      throws InterruptedException {
    unsaved.set(Integer.MAX_VALUE);
    undoes = true;
    owner.start();
    var refused = new CompletableFuture<String>();
    Thread asking =
        owner.spawn(
            "asking",
            () -> {
              try {
                int _ =
                    owner
                        .report(ledger -> ledger.put(70), _ -> ledger -> ledger.put(70))
                        .awaitUninterruptibly();
              } catch (AgentException e) {
                refused.complete(e.getMessage());
              }
              return _ -> {};
            },
            failed(new ArrayList<>()));
    await(() -> opened.getFirst().refusals > 0);
    if (restart) {
      owner.tell(
          _ -> {
            undoes = false; // not before: what is repeated meanwhile would count as saved
            bad();
          });
      await(() -> opened.size() == 2);
      undoes = true;
    } else {
      owner.close();
    }
    assertThat(asking.join(Duration.ofSeconds(10))).isTrue();
    assertThat(refused.getNow("not refused"))
        .startsWith("the ledger " + (restart ? "was restarted" : "is closed"));
  }

  @Test
  void tellsWhenTheWallClockWasSet() throws InterruptedException {
    owner.start();
    time.advance(Duration.ofHours(5));
    assertThat(owner.<Integer>ask(ledger -> ledger.put(1))).isEqualTo(1);
    assertThat(opened.getFirst().moved).isZero();
    time.wallOffset = Duration.ofHours(-1);
    assertThat(owner.<Integer>ask(ledger -> ledger.put(2))).isEqualTo(2);
    assertThat(opened.getFirst().moved).isEqualTo(Duration.ofHours(-1));
  }

  @Test
  void finishingAppliesWhatWasSentBefore() throws InterruptedException {
    owner.start();
    IntStream.range(0, 1000).forEach(i -> owner.tell(ledger -> ledger.put(i)));
    owner.finish();
    assertThat(durable).hasSize(1000);
    assertThatThrownBy(() -> owner.ask(ledger -> ledger.put(1))).hasMessage("the ledger is closed");
    assertThat(supervisor.owners()).isEmpty();
  }

  @Test
  void closingRefusesWhatWasNotApplied() throws InterruptedException {
    List<CompletableFuture<Object>> replies = new ArrayList<>();
    var entered = new CountDownLatch(1);
    owner.start();
    replies.add(
        asked(
            _ -> {
              entered.countDown();
              new CountDownLatch(1).await();
              return 0;
            }));
    assertThat(entered.await(10, TimeUnit.SECONDS)).isTrue();
    owner.tell(ledger -> ledger.put(1));
    owner.close();
    assertThat(failure(replies.getFirst())).hasMessage("the ledger is closed");
    assertThat(durable).isEmpty();
  }

  @Test
  void aMessageThatWaitsForLongIsReported() throws InterruptedException {
    var entered = new CountDownLatch(1);
    var leave = new CountDownLatch(1);
    owner.start();
    owner.tell(
        _ -> {
          entered.countDown();
          try {
            boolean _ = leave.await(20, TimeUnit.SECONDS);
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
        });
    assertThat(entered.await(10, TimeUnit.SECONDS)).isTrue();
    owner.wake();
    time.advance(Duration.ofSeconds(61));
    assertThat(status().condition()).isEqualTo(Supervisor.Condition.UNRESPONSIVE);
    leave.countDown();
    assertThat(owner.<Integer>ask(ledger -> ledger.put(1))).isEqualTo(1);
    assertThat(status().working()).isTrue();
  }

  private Supervisor.Status status() {
    assertThat(supervisor.owners()).hasSize(1);
    return supervisor.owners().getFirst();
  }

  /** All in one batch and in order: the owner is started when they are in its mailbox. */
  private List<CompletableFuture<Object>> askedTogether(int count, IntFunction numbers)
      throws InterruptedException {
    var replies = new ArrayList<CompletableFuture<Object>>();
    for (int i = 0; i < count; i++) {
      int number = i;
      replies.add(asked(ledger -> ledger.put(numbers.apply(number))));
      await(() -> owner.waiting() == number + 1);
    }
    owner.start();
    return replies;
  }

  /** Makes the number that a message puts. */
  private interface IntFunction {
    int apply(int number);
  }

  private CompletableFuture<Object> asked(Owner.Question<Ledger, Object> question) {
    return CompletableFuture.supplyAsync(
        () -> owner.ask(question), run -> Thread.ofVirtual().start(run));
  }

  private static Throwable failure(CompletableFuture<Object> reply) {
    return reply.handle((_, thrown) -> thrown).join().getCause();
  }

  private static int bad() {
    throw new IllegalStateException("bad");
  }

  private static java.util.function.Consumer<Ledger> throwing(Throwable thrown) {
    switch (thrown) {
      case RuntimeException e -> throw e;
      case Error e -> throw e;
      default -> throw new IllegalArgumentException(thrown);
    }
  }

  private static java.util.function.Function<AgentException, java.util.function.Consumer<Ledger>>
      failed(List<String> outcomes) {
    return e -> _ -> outcomes.add(e.getMessage());
  }

  private static void await(java.util.function.BooleanSupplier condition)
      throws InterruptedException {
    Deadline deadline = Deadline.after(Duration.ofSeconds(20));
    while (!condition.getAsBoolean()) {
      deadline.check("waiting for a condition");
      Pauses.REAL.pause(Duration.ofMillis(1));
    }
  }

  /** Numbers that become durable with a round, unless they are the one that cannot be saved. */
  private final class Ledger implements Owner.State {
    private final int restarts;
    private final List<Integer> noted = new ArrayList<>();
    private volatile Duration moved = Duration.ZERO;
    private volatile boolean closed;
    private volatile int refusals;

    Ledger(int restarts) {
      this.restarts = restarts;
      opened.add(this);
    }

    int put(int number) {
      noted.add(number);
      return number;
    }

    @Override
    public Duration round() {
      if (diesInRound) {
        throw new StackOverflowError("injected");
      }
      int bad = unsaved.get();
      if (bad == Integer.MAX_VALUE && !noted.isEmpty() && (refusals < 6 || noted.contains(70))) {
        refusals++;
        throw new AgentException.Configuration("the disk is full");
      }
      if (bad > 0 && noted.contains(bad)) {
        throw new AgentException.Configuration("cannot save " + bad);
      }
      durable.addAll(noted);
      noted.clear();
      return Duration.ofDays(400_000);
    }

    @Override
    public boolean undo() {
      if (undoes) {
        noted.clear();
      } else {
        durable.addAll(noted);
      }
      return undoes;
    }

    @Override
    public void clockMoved(Duration by) {
      moved = moved.plus(by);
    }

    @Override
    public void close() {
      closed = true;
    }
  }

  private static final class Time implements TimeSource {
    private final AtomicLong nanos = new AtomicLong();
    private volatile Duration wallOffset = Duration.ZERO;

    void advance(Duration by) {
      nanos.addAndGet(by.toNanos());
    }

    @Override
    public Instant instant() {
      return Instant.EPOCH.plusNanos(nanos.get()).plus(wallOffset);
    }

    @Override
    public long nanoTime() {
      return nanos.get();
    }
  }
}
