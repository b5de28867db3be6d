package dev.zlayer.engine.deployment;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.container.StopSpec;
import dev.zlayer.engine.cron.CronScheduler;
import dev.zlayer.engine.init.Initializer;
import dev.zlayer.engine.job.JobConfig;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.engine.job.JobParts;
import dev.zlayer.engine.service.ReplicaContainers;
import dev.zlayer.engine.service.ReplicaListener;
import dev.zlayer.engine.service.ServiceStatus;
import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Claims;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.DeploymentNetworks;
import dev.zlayer.port.Rotation;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Supervisor;
import dev.zlayer.testkit.FakeClock;
import dev.zlayer.testkit.fake.FakeRuntime;
import dev.zlayer.testkit.fake.FakeWorld;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.awaitility.Awaitility;

/** An agent over a machine that does not exist. Closing and opening it again is a restart. */
final class EngineFixture implements AutoCloseable {
  static final String NAME = "shop";
  private static final Duration STEP = Duration.ofMillis(250);
  private static final Duration SETTLE_TIMEOUT = Duration.ofSeconds(60);

  final FakeClock clock = new FakeClock();
  final Supervisor supervisor = new Supervisor();
  final FakeWorld world = new FakeWorld(clock);
  final FakeRuntime runtime = new FakeRuntime(world);
  final MemoryStateStore store = new MemoryStateStore();
  final ConcurrentHashMap<ServiceKey, Rotation.Requests> requests = new ConcurrentHashMap<>();
  final ConcurrentHashMap<ServiceKey, Runnable> listeners = new ConcurrentHashMap<>();
  final ConcurrentHashMap<ServiceKey, Rotation.Members> rotation = new ConcurrentHashMap<>();
  final ConcurrentHashMap<String, String> secrets = new ConcurrentHashMap<>();
  final List<String> networks = new ArrayList<>();

  /** Services that were given a place in the network of their deployment. */
  final Set<String> connected = ConcurrentHashMap.newKeySet();

  /** What happens before a replica starts. */
  volatile Initializer initializer = (_, _) -> {};

  /** What this node has of a cluster. */
  volatile Claims claims = Claims.NONE;

  /** How often a network cannot be removed. */
  final AtomicInteger stuckNetworks = new AtomicInteger();

  /** How often an endpoint cannot be served. */
  final AtomicInteger takenPorts = new AtomicInteger();

  JobExecutor jobs;
  CronScheduler cron;
  Deployments deployments;
  private final Path artifacts;

  EngineFixture(Path artifacts) {
    this.artifacts = artifacts;
    clock.onAdvance(
        () -> {
          jobs.wake();
          deployments.wake();
        });
    open(store, runtime);
  }

  void open() {
    open(store, runtime);
  }

  void open(StateStore store, ContainerRuntime runtime) {
    var records = new DeploymentStore(store);
    jobs =
        JobExecutor.open(
            new JobParts(
                store,
                runtime,
                (job, _) -> container(job.service()),
                (_, _) -> {},
                artifacts,
                clock,
                _ -> {},
                new Random(1),
                supervisor),
            JobConfig.DEFAULT,
            records.jobs());
    cron = CronScheduler.open(store, jobs, clock, supervisor, records.schedules());
    deployments =
        Deployments.open(
            new DeploymentParts(
                store,
                records,
                runtime,
                new Containers(),
                (request, observer) -> initializer.run(request, observer),
                jobs,
                cron,
                new Rotations(),
                new Networks(),
                DeploymentVolumes.KEPT,
                UnaryOperator.identity(),
                ReplicaListener.NONE,
                clock,
                new Random(2),
                supervisor),
            new DeploymentConfig(4, 20, 1, claim -> claims.obstacle(claim)));
  }

  private final class Containers implements ReplicaContainers {
    @Override
    public ContainerSpec spec(String deployment, String name, ServiceSpec service, Path directory) {
      connected.add(name);
      var labels = new HashMap<>(service.labels());
      labels.put("connected", "yes");
      return container(service).withLabels(labels);
    }

    @Override
    public ContainerSpec outline(
        String deployment, String name, ServiceSpec service, Path directory) {
      return container(service);
    }
  }

  /** Labels are behaviour of the fake runtime; a secret in the environment is resolved. */
  private ContainerSpec container(ServiceSpec service) {
    ContainerSpec spec = ContainerSpec.of(service.image().name());
    var env = new HashMap<String, String>();
    service
        .env()
        .forEach(
            (name, value) ->
                env.put(name, value.literal().orElseGet(() -> secrets.getOrDefault(name, ""))));
    Duration grace = service.process().stopGracePeriod().orElse(Duration.ofSeconds(30));
    return spec.withLabels(service.labels())
        .withProcess(spec.process().withEnv(env))
        .withStop(new StopSpec(Optional.empty(), grace));
  }

  Revision up(String services) {
    return deployments.up(request(services));
  }

  static UpRequest request(String services) {
    String file = "version: v1\ndeployment: %s\nservices:\n%s".formatted(NAME, services.indent(2));
    return new UpRequest(
        Optional.of(NAME), file.getBytes(StandardCharsets.UTF_8), Path.of("/srv/shop"));
  }

  WaitResult settle() {
    return settle(_ -> {});
  }

  /** Lets time pass until the deployment is stable, has failed, or is gone. */
  WaitResult settle(Consumer<Progress> progress) {
    var settled = new ArrayList<WaitResult>();
    await(
        () -> {
          WaitResult now = look(progress);
          if (now.outcome() != WaitResult.Outcome.TIMEOUT) {
            settled.add(now);
          }
          return !settled.isEmpty();
        });
    return settled.getLast();
  }

  WaitResult look() {
    return look(_ -> {});
  }

  private WaitResult look(Consumer<Progress> progress) {
    try {
      return deployments.awaitStable(NAME, Deadline.after(Duration.ofMillis(10)), progress);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    } catch (AgentException.NotFound _) {
      return WaitResult.removed();
    }
  }

  /** Lets time pass until it holds. */
  void await(BooleanSupplier holds) {
    Awaitility.await()
        .atMost(SETTLE_TIMEOUT)
        .pollInterval(Duration.ofMillis(2))
        .until(
            () -> {
              if (holds.getAsBoolean()) {
                return true;
              }
              clock.advance(STEP);
              return false;
            });
  }

  ServiceStatus service(String name) {
    return deployments.status(NAME).services().stream()
        .filter(service -> service.key().service().equals(name))
        .findFirst()
        .orElseThrow();
  }

  List<ContainerId> containers(String service) {
    return runtime.list().stream()
        .map(container -> container.id())
        .filter(id -> id.service().equals(service))
        .toList();
  }

  List<String> events() {
    return store.events(0, 100_000).events().stream()
        .map(event -> event.event().kind() + " " + event.event().subject())
        .toList();
  }

  /** As a kill would: no container is touched. */
  void stop() {
    try (var _ = jobs;
        var _ = cron;
        var _ = deployments) {
      // closed in the reverse order, each also when another is killed meanwhile
    }
  }

  @Override
  public void close() {
    stop();
  }

  private final class Rotations implements Rotation {
    @Override
    public void update(Members service) {
      if (takenPorts.getAndDecrement() > 0) {
        throw new AgentException.Configuration("port 80 is already in use by nginx (pid 7)");
      }
      rotation.put(service.service(), service);
    }

    @Override
    public void drain(ContainerId member, Deadline deadline) {}

    @Override
    public Optional<Requests> requests(ServiceKey service) {
      return Optional.ofNullable(requests.get(service));
    }

    @Override
    public void onRequest(ServiceKey service, Runnable listener) {
      listeners.put(service, listener);
    }

    @Override
    public void remove(ServiceKey service) {
      rotation.remove(service);
    }
  }

  private final class Networks implements DeploymentNetworks {
    @Override
    public Network make(String deployment) throws InterruptedException {
      return SHARED.make(deployment);
    }

    @Override
    public void remove(String deployment) {
      if (stuckNetworks.getAndDecrement() > 0) {
        throw new AgentException.Network("the bridge is busy, says the test");
      }
      networks.add("remove " + deployment);
    }
  }
}
