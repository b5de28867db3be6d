package dev.zlayer.cluster.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.MemoryClusterStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** A leader of etcd is lost with a change, before or after it was made; nobody says which. */
class LostAnswerTest {
  private static final String FILE =
      "version: v1\ndeployment: shop\nservices:\n"
          + "  web: {image: {name: w}, scale: {mode: manual, replicas: 1}}\n"
          + "  report: {rtype: job, image: {name: r}}\n";

  private static final String SERVICE =
      "  web: {image: {name: w}, scale: {mode: fixed, replicas: 1}}\n";

  private final MemoryClusterStore store = new MemoryClusterStore();
  private Loss loss = Loss.NONE;
  private Meanwhile whenLost = () -> {};

  /** What others do before it is tried again. */
  @FunctionalInterface
  private interface Meanwhile {
    void happens() throws InterruptedException;
  }

  private enum Loss {
    NONE,
    BEFORE,
    AFTER
  }

  @Test
  void aDeploymentIsAppliedOnce() throws InterruptedException {
    for (Loss next : List.of(Loss.BEFORE, Loss.AFTER)) {
      String text = FILE + "# " + next + "\n";
      long before = deployments().find("shop").map(Desired::revision).orElse(0L);
      loss = next;
      Desired made =
          deployments()
              .up("shop", text.getBytes(StandardCharsets.UTF_8), "/srv", OptionalLong.of(before));
      assertThat(loss).as("the change was lost").isEqualTo(Loss.NONE);
      assertThat(made.revision()).isEqualTo(before + 1);
      assertThat(deployments().files("shop")).hasSize((int) before + 1);
    }
  }

  @Test
  void aScaleIsMade() throws InterruptedException {
    up();
    for (Loss next : List.of(Loss.BEFORE, Loss.AFTER)) {
      loss = next;
      deployments().scale("shop", "web", 2 + next.ordinal());
      assertThat(deployments().find("shop").orElseThrow().scale())
          .containsEntry("web", 2 + next.ordinal());
    }
  }

  @Test
  void anExecutionIsMadeOnce() throws InterruptedException {
    up();
    for (Loss next : List.of(Loss.BEFORE, Loss.AFTER)) {
      loss = next;
      ClusterExecution made =
          new ClusterJobs(losing(), InstantSource.system()).trigger("shop", "report", request());
      List<ClusterExecution> known =
          ClusterState.read(store, Simulation.limit()).executions("shop", "report");
      assertThat(known).hasSize(next.ordinal()).contains(made);
      assertThat(made.number()).isEqualTo(next.ordinal());
    }
  }

  /** Whoever removed the first one hears nothing, and somebody begins another one meanwhile. */
  @Test
  void aRemovalIsOfTheDeploymentThatWasThere() throws InterruptedException {
    up();
    loss = Loss.AFTER;
    whenLost =
        () -> {
          change(new ClusterStore.Change.Delete(StoreKeys.DESIRED + "shop"));
          up();
        };
    deployments().down("shop", false);
    assertThat(deployments().find("shop").flatMap(Desired::removing)).isEmpty();
    assertThat(deployments().find("shop")).isPresent();

    whenLost = () -> change(new ClusterStore.Change.Delete(StoreKeys.DESIRED + "shop"));
    loss = Loss.AFTER;
    deployments().down("shop", false);
    assertThat(deployments().find("shop")).isEmpty();
  }

  /** What is done long after nobody answered is older than what was reported since. */
  @Test
  void aReportThatComesLateDoesNotUndoANewerOne() throws InterruptedException {
    var cluster = new Simulation().node("a");
    cluster.up("shop", SERVICE);
    cluster.converge();
    var place = new ClusterState.Place("a", "shop");
    var late = new ArrayList<Runnable>();
    cluster.nodes.put(
        "a",
        new NodeShares(
            keeping(cluster.store, place.report(), late),
            cluster::state,
            "a",
            () -> cluster.leases.get("a"),
            cluster.engines.get("a"),
            _ -> {}));
    cluster.up("shop", SERVICE + "  # the second one\n");
    cluster.converge();
    assertThat(late).hasSize(1);
    cluster.up("shop", SERVICE + "  # the third one\n");
    cluster.converge();
    assertThat(cluster.state().reports().get(place).revision()).isEqualTo(3);

    late.forEach(Runnable::run);

    assertThat(cluster.state().reports().get(place).revision()).isEqualTo(3);
    change(cluster.store, new ClusterStore.Change.Delete(place.report()));
    cluster.converge();
    assertThat(cluster.state().reports().get(place).revision()).as("written again").isEqualTo(3);
  }

  /** The first change of a key is kept for later. */
  @SuppressWarnings("unchecked")
  private static ClusterStore keeping(ClusterStore store, String key, List<Runnable> late) {
    return (ClusterStore)
        Proxy.newProxyInstance(
            LostAnswerTest.class.getClassLoader(),
            new Class<?>[] {ClusterStore.class},
            (_, method, arguments) -> {
              if (late.isEmpty()
                  && method.getName().equals("transact")
                  && ((List<ClusterStore.Change>) arguments[1]).getFirst()
                      instanceof ClusterStore.Change.Put put
                  && put.key().equals(key)) {
                late.add(
                    () -> {
                      try {
                        var _ = method.invoke(store, arguments);
                      } catch (ReflectiveOperationException e) {
                        throw new AssertionError(e);
                      }
                    });
                throw new AgentException.Timeout("a report", ((Deadline) arguments[2]).limit());
              }
              try {
                return method.invoke(store, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private void change(ClusterStore.Change change) {
    change(store, change);
  }

  private static void change(MemoryClusterStore store, ClusterStore.Change change) {
    var _ = store.transact(List.of(), List.of(change), Simulation.limit());
  }

  private void up() throws InterruptedException {
    var _ =
        deployments()
            .up("shop", FILE.getBytes(StandardCharsets.UTF_8), "/srv", OptionalLong.empty());
  }

  private static ClusterExecution.Request request() {
    return new ClusterExecution.Request(
        "cli",
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        Map.of(),
        Optional.empty(),
        0,
        Optional.empty());
  }

  private ClusterDeployments deployments() {
    return new ClusterDeployments(losing(), InstantSource.system());
  }

  /** The store, of which the next change is not answered. */
  private ClusterStore losing() {
    return (ClusterStore)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {ClusterStore.class},
            (_, method, arguments) -> {
              Loss now = method.getName().equals("transact") ? loss : Loss.NONE;
              if (now == Loss.BEFORE) {
                throw lost(arguments);
              }
              Object result;
              try {
                result = method.invoke(store, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
              if (now == Loss.AFTER) {
                throw lost(arguments);
              }
              return result;
            });
  }

  private AgentException lost(Object[] arguments) throws InterruptedException {
    loss = Loss.NONE;
    Meanwhile now = whenLost;
    whenLost = () -> {};
    now.happens();
    return new AgentException.Timeout("changing the state", ((Deadline) arguments[2]).limit());
  }
}
