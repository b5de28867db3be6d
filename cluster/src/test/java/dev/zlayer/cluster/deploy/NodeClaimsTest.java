package dev.zlayer.cluster.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.member.StoreKeys;
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
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** One node, whose requests may be carried out when it no longer expects it. */
class NodeClaimsTest {
  private static final String CLAIM = "shop/web";
  private static final String KEY = StoreKeys.CLAIMS + CLAIM;
  private static final String FILE =
      """
      version: v1
      deployment: shop
      services:
        web: {image: {name: web}, single_instance: true}
      """;

  private final MemoryClusterStore store = new MemoryClusterStore();
  private final Machine machine = new Machine();
  private boolean loses;
  private Optional<Runnable> late = Optional.empty();

  /** What runs here, by which claim and until when. */
  private static final class Machine implements NodeClaims.Node {
    private final Map<String, Long> until = new HashMap<>();
    private final Set<String> present = new HashSet<>();

    @Override
    public long bootMillis() {
      return 1_000_000;
    }

    @Override
    public void extend(String claim, long untilMillis, Duration stop) {
      until.put(claim, untilMillis);
    }

    @Override
    public void remove(String claim) {
      until.remove(claim);
    }

    @Override
    public Set<String> present() {
      return present;
    }

    @Override
    public void endUnwatched() {}
  }

  /** A member of etcd was stopped with the request and continues minutes later. */
  @Test
  void aClaimThatIsUsedAgainIsNotRemovedByARequestThatNobodyAnswered() throws Exception {
    NodeClaims claims = claims(20);
    assign(true);
    var _ = claims.round();
    assertThat(machine.until).containsKey(CLAIM);

    assign(false);
    loses = true;
    var _ = claims.round();
    assertThat(late).as("it was to be given back").isPresent();
    assertThat(claims.problem()).isPresent();

    assign(true);
    var _ = claims.round();
    assertThat(machine.until).containsKey(CLAIM);
    machine.present.add(CLAIM);
    late.get().run();
    assertThat(store.find(KEY, limit())).as("something runs by it").isPresent();

    machine.present.clear();
    assign(false);
    var _ = claims.round();
    assertThat(store.find(KEY, limit())).isEmpty();
    assertThat(machine.until).isEmpty();
  }

  @Test
  void aClaimOfAnEarlierSettingIsRenewedInItsOwnTime() throws Exception {
    put(KEY, new ClusterClaim("n", 4).json());
    assign(true);
    NodeClaims claims = claims(3600);
    Duration pause = claims.round();
    assertThat(machine.until).containsEntry(CLAIM, machine.bootMillis() + 4000);
    assertThat(pause).isLessThanOrEqualTo(Duration.ofSeconds(1));
  }

  private NodeClaims claims(long stop) {
    put(
        StoreKeys.file("shop", 1),
        new Desired.File("shop", 1, Instant.EPOCH, "up", "/", FILE).json());
    return new NodeClaims(
        losing(), () -> ClusterState.read(store, limit()), "n", () -> 1, machine, stop);
  }

  private void assign(boolean here) {
    String key = new ClusterState.Place("n", "shop").assignment();
    if (here) {
      var assignment = new Assignment(1, Map.of("web", List.of(1)), Optional.empty());
      put(key, assignment.json());
    } else {
      change(new Change.Delete(key));
    }
  }

  private void put(String key, String value) {
    change(new Change.Put(key, value));
  }

  private void change(Change change) {
    var _ = store.transact(List.of(), List.of(change), limit());
  }

  /** The store, which once keeps the removal of a claim for later. */
  @SuppressWarnings("unchecked")
  private ClusterStore losing() {
    return (ClusterStore)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {ClusterStore.class},
            (_, method, arguments) -> {
              if (loses
                  && method.getName().equals("transact")
                  && ((List<Change>) arguments[1]).contains(new Change.Delete(KEY))) {
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
                throw new AgentException.Timeout("a change", Duration.ofSeconds(5));
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
