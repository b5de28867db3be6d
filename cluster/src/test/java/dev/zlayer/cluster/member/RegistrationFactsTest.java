package dev.zlayer.cluster.member;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.cluster.store.MemoryClusterStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RegistrationFactsTest {
  private static final String ID = "a1";
  private static final Duration LIMIT = Duration.ofSeconds(30);

  private final MemoryClusterStore store = new MemoryClusterStore();
  private final AtomicLong lease = new AtomicLong();
  private final AtomicInteger reads = new AtomicInteger();
  private volatile List<String> gpus = List.of("0");
  private volatile boolean readable = true;
  private Owner<Registration> owner;

  @BeforeEach
  void start() throws InterruptedException {
    var record = new NodeRecord(ID, "one", "192.0.2.1", false, Instant.EPOCH, Map.of());
    var _ =
        store.transact(
            List.of(), List.of(new Change.Put(StoreKeys.member(ID), record.text())), limit());
    var identity =
        new NodeIdentity(
            NodeIdentity.VERSION, "c", ID, "one", "192.0.2.1", false, List.of(), Map.of(), false);
    owner =
        Owner.<Registration>of(
                "the cluster",
                TimeSource.of(InstantSource.system()),
                new Supervisor(),
                (own, _) ->
                    new Registration(
                        identity,
                        store,
                        Optional.empty(),
                        Optional.empty(),
                        this::facts,
                        _ -> {},
                        () -> false,
                        lease::set,
                        Registration.Beside.of(own),
                        Duration.ofMillis(1)))
            .start();
    owner.wake();
    await().atMost(LIMIT).until(() -> lease.get() != 0);
  }

  @AfterEach
  void close() {
    owner.close();
  }

  private NodeRecord.Facts facts() {
    reads.incrementAndGet();
    if (!readable) {
      throw new AgentException.Configuration("the driver does not answer");
    }
    return new NodeRecord.Facts(2, 1 << 20, List.of(), List.of(), gpus, "test", List.of());
  }

  private static Deadline limit() {
    return Deadline.after(Duration.ofSeconds(5));
  }

  private Entry alive() {
    return store.find(StoreKeys.alive(ID), limit()).orElseThrow();
  }

  /** Has it look once more, whatever was under way before. */
  private void look() {
    int before = reads.get();
    await()
        .atMost(LIMIT)
        .until(
            () -> {
              owner.wake();
              return reads.get() > before + 1;
            });
  }

  @Test
  void whatANodeHasIsWrittenWhenItChangesAndOnlyThen() {
    Entry before = alive();
    long under = lease.get();
    look();
    look();
    assertThat(alive()).isEqualTo(before);

    gpus = List.of("0", "1");
    await()
        .atMost(LIMIT)
        .until(
            () -> {
              owner.wake();
              return NodeRecord.Facts.parse(alive().value()).gpus().equals(List.of("0", "1"));
            });
    assertThat(alive().lease()).isEqualTo(under).isEqualTo(lease.get());
  }

  @Test
  void whatCannotBeReadStaysAsItWas() {
    Entry before = alive();
    readable = false;
    look();
    look();
    assertThat(alive()).isEqualTo(before);
    assertThat(owner.ask(Registration::problem)).isEmpty();
  }
}
