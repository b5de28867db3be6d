package dev.zlayer.engine.deployment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.service.ServiceState;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.Images;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What happens to one service costs the others nothing, however many there are. */
class WakeUpsTest {
  private static final int SERVICES = 50;

  @TempDir Path artifacts;

  @Test
  void aChangeOfOneServiceWakesNoOtherAndListsNothing() {
    try (var fixture = new EngineFixture(artifacts)) {
      fixture.stop();
      var runtime = new CountingRuntime(fixture.runtime);
      fixture.open(fixture.store, runtime);
      fixture.up(services());
      assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.STABLE);
      int listed = runtime.listings.get();

      var others = new ArrayList<Integer>();
      for (int replicas = 2; replicas <= 5; replicas++) {
        runtime.asked.clear();
        scale(fixture, replicas);
        others.add(
            runtime.asked.entrySet().stream()
                .filter(service -> !service.getKey().equals("s0"))
                .mapToInt(service -> service.getValue().get())
                .sum());
      }

      // what still went on when the first change was made may be counted with it
      assertThat(others.stream().mapToInt(Integer::intValue).min())
          .as("calls for containers of the others, by change: %s", others)
          .hasValue(0);
      assertThat(runtime.listings).hasValue(listed);
    }
  }

  @Test
  void allServicesShareOneListing() {
    try (var fixture = new EngineFixture(artifacts)) {
      fixture.stop();
      var runtime = new CountingRuntime(fixture.runtime);
      fixture.open(fixture.store, runtime);
      fixture.up(services());
      assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.STABLE);
      runtime.listings.set(0);

      for (int minute = 1; minute <= 10; minute++) {
        fixture.clock.advance(Duration.ofMinutes(1));
        int wanted = minute;
        Awaitility.await().until(() -> runtime.listings.get() >= wanted);
      }

      assertThat(runtime.listings.get())
          .as("one for all services and one for all jobs each minute")
          .isLessThanOrEqualTo(2 * 10);
    }
  }

  /** A round looks at all of them: those of a while are dealt with together. */
  @Test
  @Timeout(60)
  void aServiceOfManyReplicasIsNotLookedAtForEachOfThem() {
    int replicas = 200;
    try (var fixture = new EngineFixture(artifacts)) {
      fixture.stop();
      var rounds = new CopyOnWriteArrayList<Long>();
      fixture.open(noting(fixture.store, rounds), fixture.runtime);
      var next = new Semaphore(0);
      fixture.initializer = (_, _) -> next.acquire();
      String file =
          "s0: {image: app:1, scale: {mode: fixed, replicas: %d}, init: {steps: [{id: a, uses:"
              + " init.run, with: {command: b}}]}}";
      fixture.up(file.formatted(replicas));
      for (int started = 1; started <= replicas; started++) {
        next.release(); // one after the other, as they would come
        int wanted = started;
        Awaitility.await()
            .pollDelay(Duration.ZERO)
            .pollInterval(Duration.ofMillis(1))
            .until(() -> fixture.containers("s0").size() >= wanted);
      }
      Awaitility.await().until(() -> fixture.service("s0").ready() == replicas);

      assertThat(rounds).isNotEmpty();
      for (int number = 1; number < rounds.size(); number++) {
        assertThat(Duration.ofNanos(rounds.get(number) - rounds.get(number - 1)))
            .as("between %d of %d", number, rounds.size())
            .isGreaterThan(Duration.ofMillis(30));
      }
    }
  }

  /** Notes the time of each commit that says that replicas have become healthy. */
  private static StateStore noting(StateStore store, List<Long> times) {
    return (StateStore)
        Proxy.newProxyInstance(
            StateStore.class.getClassLoader(),
            new Class<?>[] {StateStore.class},
            (_, method, arguments) -> {
              if (method.getName().equals("commit")
                  && ((Change) arguments[0])
                      .events().stream().anyMatch(one -> one.kind().equals("replica.healthy"))) {
                times.add(System.nanoTime());
              }
              try {
                return method.invoke(store, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  /** Those who do not read meanwhile are not told of every replica either. */
  @Test
  void whoeverReadsSlowlyGetsTheNewestStatusOnly() {
    try (var fixture = new EngineFixture(artifacts)) {
      var states = new ArrayList<ServiceState>();
      fixture.up("s0: {image: app:1, scale: {mode: fixed, replicas: 40}}");
      WaitResult end =
          fixture.settle(
              progress -> {
                if (progress instanceof Progress.Changed(var service)) {
                  states.add(service.state());
                  Awaitility.await().until(() -> fixture.service("s0").ready() == 40);
                }
              });
      assertThat(end.outcome()).isEqualTo(WaitResult.Outcome.STABLE);
      assertThat(states).hasSizeLessThan(10);
    }
  }

  /** The second one waited for the first. */
  private static String services() {
    return IntStream.range(0, SERVICES)
        .mapToObj(
            i ->
                "s%d: {image: app:1, scale: {mode: manual}%s}"
                    .formatted(i, i == 1 ? ", depends: [{service: s0, condition: healthy}]" : ""))
        .collect(Collectors.joining("\n"));
  }

  private static void scale(EngineFixture fixture, int replicas) {
    fixture.deployments.scale(new ServiceKey(EngineFixture.NAME, "s0"), replicas);
    Awaitility.await()
        .until(
            () ->
                fixture.service("s0").ready() == replicas
                    && fixture.service("s0").state() == ServiceState.RUNNING);
  }

  /** Counts listings, and what handles are asked: a service that makes a round asks its own. */
  private static final class CountingRuntime implements ContainerRuntime {
    final AtomicInteger listings = new AtomicInteger();
    final Map<String, AtomicInteger> asked = new ConcurrentHashMap<>();
    private final ContainerRuntime runtime;

    CountingRuntime(ContainerRuntime runtime) {
      this.runtime = runtime;
    }

    @Override
    public String name() {
      return runtime.name();
    }

    @Override
    public Capabilities capabilities() {
      return runtime.capabilities();
    }

    @Override
    public Images images() {
      return runtime.images();
    }

    @Override
    public Container create(ContainerId id, ContainerSpec spec) throws InterruptedException {
      return counted(runtime.create(id, spec));
    }

    @Override
    public Optional<Container> find(ContainerId id) {
      return runtime.find(id).map(this::counted);
    }

    @Override
    public List<Container> list() {
      listings.incrementAndGet();
      return runtime.list().stream().map(this::counted).toList();
    }

    private Container counted(Container container) {
      return (Container)
          Proxy.newProxyInstance(
              Container.class.getClassLoader(),
              new Class<?>[] {Container.class},
              (_, method, arguments) -> {
                asked
                    .computeIfAbsent(container.id().service(), _ -> new AtomicInteger())
                    .incrementAndGet();
                try {
                  return method.invoke(container, arguments);
                } catch (InvocationTargetException e) {
                  throw e.getCause();
                }
              });
    }
  }
}
