package dev.zlayer.daemon;

import dev.zlayer.daemon.backup.StateBackup;
import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.daemon.docker.ReplicaEvents;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.daemon.metrics.EventMetrics;
import dev.zlayer.daemon.metrics.MeteredRuntime;
import dev.zlayer.daemon.metrics.MetricHistory;
import dev.zlayer.daemon.metrics.Metrics;
import dev.zlayer.daemon.notification.Notifier;
import dev.zlayer.daemon.standalone.StandaloneContainers;
import dev.zlayer.daemon.volume.VolumeUsers;
import dev.zlayer.engine.cron.CronScheduler;
import dev.zlayer.engine.deployment.DeploymentConfig;
import dev.zlayer.engine.deployment.DeploymentParts;
import dev.zlayer.engine.deployment.DeploymentStore;
import dev.zlayer.engine.deployment.Deployments;
import dev.zlayer.engine.deployment.NetworkedContainers;
import dev.zlayer.engine.init.InitConfig;
import dev.zlayer.engine.init.InitRunner;
import dev.zlayer.engine.job.JobConfig;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.engine.job.JobParts;
import dev.zlayer.engine.job.SingleJobs;
import dev.zlayer.engine.secret.RedactingStateStore;
import dev.zlayer.engine.secret.SecretKey;
import dev.zlayer.engine.secret.SecretStore;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.SqliteStateStore;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.engine.state.StoreConfig;
import dev.zlayer.engine.translate.EnvResolver;
import dev.zlayer.engine.translate.SecretMounts;
import dev.zlayer.engine.translate.ServiceTranslator;
import dev.zlayer.engine.volume.VolumeStore;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.file.DirectoryLock;
import dev.zlayer.host.file.DiskReserve;
import dev.zlayer.host.file.PrivateDirectory;
import dev.zlayer.host.linux.NodeUsage;
import dev.zlayer.image.ImageStore;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.DeploymentNames;
import dev.zlayer.port.DeploymentNetworks;
import dev.zlayer.port.Rotation;
import dev.zlayer.proxy.RemoteMembers;
import dev.zlayer.proxy.ingress.Ingress;
import dev.zlayer.proxy.tls.Certificates;
import dev.zlayer.proxy.tls.ManagedCertificates;
import dev.zlayer.runtime.cni.DeploymentBridges;
import dev.zlayer.runtime.cni.Networks;
import dev.zlayer.runtime.composite.CompositeRuntime;
import dev.zlayer.runtime.composite.FileDispatchRecords;
import dev.zlayer.runtime.composite.Reports;
import dev.zlayer.runtime.docker.DockerRuntime;
import dev.zlayer.runtime.oci.OciRuntime;
import dev.zlayer.runtime.wasm.WasmRuntime;
import dev.zlayer.runtime.wasm.WasmSettings;
import dev.zlayer.spec.value.SecretRef;
import dev.zlayer.task.Owner;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.random.RandomGenerator;

/**
 * The whole agent without its listeners: what the daemon serves, and what a program gets that
 * embeds it.
 *
 * <pre>{@code
 * try (Agent agent = Agent.open(AgentConfig.under(Path.of("/srv/agent")), Map.of(), Log.silent())) {
 *   agent.images().pull(PullRequest.of(ImageRef.parse("alpine"), PullPolicy.NEWER), event -> {});
 *   Container container = agent.runtime().create(id, ContainerSpec.of(ImageRef.parse("alpine")));
 * }
 * }</pre>
 *
 * <p>Parts are started in one order, each on what came before, and stopped in the reverse order.
 * Stopping leaves containers running; the next agent on the same directory finds them.
 */
public final class Agent implements AutoCloseable {
  private final AgentConfig config;
  private final Parts parts;
  private final ImageStore images;
  private final ImageUsers imageUsers = new ImageUsers();
  private final StateStore store;
  private final FileDispatchRecords dispatch;
  private final DiskReserve reserve;
  private final boolean stateReset;
  private final Optional<LinuxParts> linux;
  private final List<ContainerRuntime> runtimes;
  private final Supervisor supervisor = new Supervisor();
  private final Metrics metrics = new Metrics();
  private final ContainerRuntime runtime;
  private final HostShutdown shutdown;
  private final ServiceTranslator translator;
  private final SecretStore secrets;
  private final ManagedCertificates certificates;
  private final DeploymentStore records;
  private final VolumeStore volumes;
  private final JobExecutor jobs;
  private final CronScheduler cron;
  private final Deployments deployments;
  private final StandaloneContainers standalone;
  private final VolumeUsers volumeUsers;
  private final Optional<MetricHistory> history;
  private final ReplicaEvents replicaEvents = new ReplicaEvents(InstantSource.system());

  private Agent(AgentConfig config, Map<String, String> env, Parts parts, Log log)
      throws InterruptedException {
    this.config = config;
    this.parts = parts;
    TimeSource clock = TimeSource.of(InstantSource.system());
    DataDir dirs = config.directories();
    parts.make(
        "the directories",
        () -> {
          PrivateDirectory.directories(dirs);
          return dirs;
        });
    DirectoryLock _ =
        parts.start("the lock of the data directory", () -> DirectoryLock.take(dirs.lockFile()));
    StateBackup.requireWhole(dirs);
    this.reserve = parts.make("the reserve of the disk", () -> DiskReserve.open(dirs.reserve()));
    this.stateReset = Damages.emptied(dirs);
    Parts.Pending<SqliteStateStore> opening =
        parts.begin(
            "the state store",
            () ->
                SqliteStateStore.open(
                    dirs.stateFile(), StoreConfig.DEFAULT.withEvents(config.events()), supervisor));
    this.images =
        parts.start(
            "the image store",
            () -> ImageStore.open(dirs, Settings.images(config, env, clock), imageUsers));
    this.dispatch =
        parts.make("the records of containers", () -> FileDispatchRecords.open(dirs.dispatch()));
    this.store = opening.await(); // before anything is changed: it may be that of a later version
    this.linux =
        LinuxParts.start(
            config,
            new LinuxParts.Needs(parts, images, dispatch, clock, supervisor),
            NodeInfo.probe(env).probeFiles(),
            log);
    this.history =
        linux.isPresent() ? Optional.of(startHistory(dirs, clock, log)) : Optional.empty();
    Rotation rotation = linux.<Rotation>map(LinuxParts::rotation).orElse(Rotation.NONE);
    DeploymentNetworks bridges =
        linux.<DeploymentNetworks>map(LinuxParts::bridges).orElse(DeploymentNetworks.SHARED);
    this.runtimes = runtimes(config, dirs, clock, log);
    imageUsers.open(runtimes);
    this.runtime =
        new MeteredRuntime(
            parts.make(
                "the choice of runtimes",
                () ->
                    new AdmittingRuntime(
                        CompositeRuntime.open(runtimes, dispatch, Reports.LOGGED), this::obstacle)),
            metrics);
    this.shutdown = parts.start("the end of the host", () -> new HostShutdown(linux, log));
    SecretKey key = parts.make("the key of the secrets", () -> SecretKey.open(dirs.secretKey()));
    this.secrets = parts.make("the secrets", () -> SecretStore.open(store, key, clock));
    var telling = new RedactingStateStore(store, secrets::redaction);
    var receivers = new Notifier.Context(telling, clock, supervisor, metrics, log);
    for (Owner<Notifier> notifier :
        parts.make(
            "the notifications",
            () -> Notifier.open(config.notifications(), NodeInfo.name(env), receivers))) {
      parts.start("a notifier", () -> notifier);
    }
    var certificateLog = new CertificateEventLog(telling, clock, log);
    this.certificates =
        parts.start(
            "the certificates",
            () -> certificateLog.open(key, secrets, Settings.acme(config), supervisor));
    linux.ifPresent(
        one -> {
          one.ingress().use(certificates);
          one.ingress().onEjection(new IngressEventLog(telling, clock, log)::record);
          one.ingress()
              .use(
                  (deployment, name) ->
                      secrets.find(deployment, new SecretRef.OfDeployment(), name));
        });
    // whoever may not mount memory runs no Linux containers, and nothing else mounts files
    SecretMounts secretFiles =
        linux.isEmpty()
            ? SecretMounts.NONE
            : parts.start(
                "the secret files", () -> SecretDirectory.open(dirs.secretFiles(), key, runtime));
    var resolver = new EnvResolver(name -> Optional.ofNullable(env.get(name)), secrets);
    this.translator = new ServiceTranslator(resolver, new SharedContainers(runtime), secretFiles);
    var initializer =
        new InitRunner(
            runtime,
            resolver,
            new InitConfig(config.hostCommands()),
            Settings::tls,
            linux.<DeploymentNames>map(LinuxParts::proxy).orElse(DeploymentNames.NONE),
            this::hidden,
            clock,
            Pauses.REAL);
    this.records =
        parts.make(
            "the records of deployments", () -> DeploymentStore.open(telling, clock.instant()));
    var containers = new NetworkedContainers(translator, bridges, records);
    this.volumes =
        parts.make(
            "the volumes",
            () -> VolumeStore.open(dirs.volumes(), runtime, () -> declaredVolumes(clock)));
    this.jobs =
        parts.start(
            "the jobs",
            () ->
                JobExecutor.open(
                    new JobParts(
                        telling,
                        runtime,
                        containers,
                        initializer,
                        dirs.artifacts(),
                        clock,
                        Pauses.REAL,
                        RandomGenerator.getDefault(),
                        supervisor),
                    new JobConfig(
                        config.jobConcurrency(), config.jobQueue(), JobConfig.DEFAULT.sweep()),
                    records.jobs()));
    this.cron =
        parts.start(
            "the schedules",
            () -> CronScheduler.open(telling, jobs, clock, supervisor, records.schedules()));
    this.deployments =
        parts.start(
            "the deployments",
            () ->
                Deployments.open(
                    new DeploymentParts(
                        telling,
                        records,
                        runtime,
                        containers,
                        initializer,
                        jobs,
                        cron,
                        rotation,
                        bridges,
                        volumes,
                        this::hidden,
                        replicaEvents,
                        clock,
                        RandomGenerator.getDefault(),
                        supervisor),
                    DeploymentConfig.of(dirs)));
    if (linux.isPresent()) {
      parts.make(
          "the removal of orphaned endpoints",
          () -> linux.get().removeOrphans(records, deployments));
    }
    this.standalone =
        parts.start(
            "the standalone containers",
            () -> StandaloneContainers.open(runtime, telling, clock, Pauses.REAL, supervisor, log));
    this.volumeUsers = new VolumeUsers(runtime, deployments, standalone, telling);
    parts.make("the users of volumes", this::recoverUsers);
    DiskCollector _ =
        parts.start(
            "the collector of images and logs",
            () ->
                DiskCollector.start(
                    images.images(),
                    new KeptLogs(jobs, runtime),
                    telling,
                    reserve,
                    new DiskCollector.Watermarks(config.imageGcHigh(), config.imageGcLow()),
                    DiskCollector.diskOf(dirs.images()),
                    clock,
                    Pauses.REAL,
                    log));
    new Damages(stateReset, records, store, runtime).report(clock, log);
    Owner<EventMetrics> _ =
        parts.start(
            "the figures",
            () -> EventMetrics.open(store, jobs::find, metrics, clock, supervisor, log));
    linux.ifPresent(here -> here.networks().fillPools()); // last: it takes processors
  }

  private MetricHistory startHistory(DataDir dirs, InstantSource clock, Log log)
      throws InterruptedException {
    return parts.start(
        "the history of figures",
        () -> {
          var opened =
              MetricHistory.open(
                  dirs.metricHistory(),
                  () -> NodeUsage.read(dirs.data(), clock.instant()),
                  clock.instant(),
                  log);
          linux.orElseThrow().oci().stats().listen(opened);
          return opened;
        });
  }

  /** The ways to run a container; the first is the usual one. */
  private List<ContainerRuntime> runtimes(
      AgentConfig config, DataDir dirs, InstantSource clock, Log log) throws InterruptedException {
    var all = new ArrayList<ContainerRuntime>();
    linux.ifPresent(here -> all.add(here.oci()));
    WslPart.start(config, parts, images, log).ifPresent(all::add);
    all.add(
        parts.start(
            "the WebAssembly runtime",
            () -> WasmRuntime.open(dirs, images, WasmSettings.standard(), clock)));
    if (config.docker().isPresent()) {
      all.add(parts.start("the Docker runtime", () -> DockerRuntime.open(Settings.docker(config))));
    }
    return List.copyOf(all);
  }

  /**
   * Opens an agent on its directory; only one can be.
   *
   * @param env the variables that {@code $E:NAME} in deployment files may refer to
   * @throws dev.zlayer.error.AgentException.Configuration another agent is open there (its pid is
   *     named), or a part of the host is missing
   */
  public static Agent open(AgentConfig config, Map<String, String> env, Log log)
      throws InterruptedException {
    return new Agent(config, env, new Parts(log), log);
  }

  public AgentConfig config() {
    return config;
  }

  public ContainerRuntime runtime() {
    return runtime;
  }

  public ImageStore images() {
    return images;
  }

  public StateStore store() {
    return store;
  }

  public JobExecutor jobs() {
    return jobs;
  }

  public CronScheduler cron() {
    return cron;
  }

  public Deployments deployments() {
    return deployments;
  }

  /** What is recorded of deployments, their jobs among it. */
  public DeploymentStore records() {
    return records;
  }

  public VolumeStore volumes() {
    return volumes;
  }

  VolumeUsers volumeUsers() {
    return volumeUsers;
  }

  ReplicaEvents replicaEvents() {
    return replicaEvents;
  }

  HostShutdown shutdown() {
    return shutdown;
  }

  private VolumeUsers recoverUsers() throws InterruptedException {
    volumeUsers.recover();
    return volumeUsers;
  }

  /** The volumes that files name, of deployments and of jobs without one. */
  private Map<String, Set<String>> declaredVolumes(InstantSource clock) {
    var declared = new TreeMap<>(records.volumes());
    declared.put(JobKey.NONE, new SingleJobs(store, clock).volumes());
    return declared;
  }

  private String hidden(String text) {
    return secrets.redaction().text(text);
  }

  public SecretStore secrets() {
    return secrets;
  }

  /** The certificates of hosts that endpoints serve. */
  public Certificates certificates() {
    return certificates;
  }

  public StandaloneContainers standalone() {
    return standalone;
  }

  public ServiceTranslator translator() {
    return translator;
  }

  /** None on a node that cannot run Linux containers. */
  public Optional<Networks> networks() {
    return linux.map(LinuxParts::networks);
  }

  /** None on a node that cannot run Linux containers. */
  public Optional<Ingress> ingress() {
    return linux.map(LinuxParts::ingress);
  }

  /** The networks of deployments; none on a node that cannot run Linux containers. */
  public Optional<DeploymentBridges> bridges() {
    return linux.map(LinuxParts::bridges);
  }

  public Optional<RemoteMembers> remoteMembers() {
    return linux.map(LinuxParts::rotation);
  }

  /** The ways to run a container, the usual one first. */
  public List<ContainerRuntime> runtimes() {
    return runtimes;
  }

  /** The parts that only Linux containers have; none on a node that cannot run them. */
  public Optional<OciRuntime> oci() {
    return linux.map(LinuxParts::oci);
  }

  /** What was used over the last day; none where no Linux containers run. */
  public Optional<MetricHistory> history() {
    return history;
  }

  public Metrics metrics() {
    return metrics;
  }

  /** Whether state can be written, containers be listed, and every owner of a thread answers. */
  public Health health() {
    var parts = new LinkedHashMap<String, String>();
    parts.put("state", Health.trouble(() -> store.commit(new Change(List.of(), List.of()))));
    parts.put("containers", Health.trouble(runtime::list));
    parts.put("creates", obstacle().orElse("ok"));
    List<Supervisor.Status> owners = supervisor.owners();
    return new Health(
        parts.values().stream().allMatch("ok"::equals)
            && owners.stream().allMatch(Supervisor.Status::working),
        parts,
        owners);
  }

  /** Why no container can be made at the moment. */
  public Optional<String> obstacle() {
    return dispatch.full().or(reserve::shortage);
  }

  /** Space that is set aside for removals. */
  DiskReserve reserve() {
    return reserve;
  }

  /** What could not be read and is therefore unknown; each with what happened to it. */
  List<String> damages() {
    return new Damages(stateReset, records, store, runtime).list();
  }

  /** Whoever owns a thread of this agent, and whether the agent can go on. */
  public Supervisor supervisor() {
    return supervisor;
  }

  /** Ends the agent and leaves the containers running. */
  @Override
  public void close() {
    parts.close();
  }
}
