package dev.zlayer.cluster.member;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.MemoryClusterStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class RegistrationTest {
  private static final String ID = "a1";

  private final MemoryClusterStore store = new MemoryClusterStore();
  private final AtomicLong lease = new AtomicLong();
  private boolean loses = true;
  private Optional<Runnable> late = Optional.empty();

  /** Under the first lease, which is not renewed, the node would be lost for ever. */
  @Test
  void aRegistrationThatIsMadeLateDoesNotReplaceALaterOne() throws Exception {
    var record = new NodeRecord(ID, "one", "192.0.2.1", true, Instant.EPOCH, Map.of());
    var member = new Change.Put(Keys.member(ID), record.text());
    var _ = store.transact(List.of(), List.of(member), limit());
    Registration registration = registration();
    var _ = registration.round();
    assertThat(late).isPresent();
    assertThat(lease).hasValue(0);
    var _ = registration.round();
    assertThat(registration.problem()).isEmpty();
    assertThat(lease.get()).isPositive();

    late.get().run();

    assertThat(store.find(Keys.alive(ID), limit()).orElseThrow().lease()).isEqualTo(lease.get());
    var _ = registration.round();
    assertThat(registration.problem()).isEmpty();
  }

  private Registration registration() {
    var identity =
        new NodeIdentity(
            NodeIdentity.VERSION, "c", ID, "one", "192.0.2.1", true, List.of(), Map.of(), false);
    return new Registration(
        identity,
        losing(),
        Optional.empty(),
        Optional.empty(),
        () -> new NodeRecord.Facts(1, 1, List.of(), List.of(), List.of(), "1", List.of()),
        _ -> {},
        () -> false,
        lease::set,
        (_, _) -> {},
        Registration.FACTS);
  }

  /** The store, which keeps the first change for later. */
  @SuppressWarnings("unchecked")
  private ClusterStore losing() {
    return (ClusterStore)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {ClusterStore.class},
            (_, method, arguments) -> {
              if (loses && method.getName().equals("transact")) {
                loses = false;
                late =
                    Optional.of(
                        () -> {
                          var _ =
                              store.transact(
                                  (List<Condition>) arguments[0],
                                  (List<Change>) arguments[1],
                                  limit());
                        });
                throw new AgentException.Timeout("a registration", Duration.ofSeconds(4));
              }
              try {
                return method.invoke(store, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private static Deadline limit() {
    return Deadline.after(Duration.ofSeconds(5));
  }
}
