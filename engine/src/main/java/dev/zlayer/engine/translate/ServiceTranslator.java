package dev.zlayer.engine.translate;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.LogSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.container.Signal;
import dev.zlayer.container.StopSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.Platform;
import dev.zlayer.spec.LogsSpec;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.check.SupportCheck;
import dev.zlayer.spec.placement.PlacementSpec;
import dev.zlayer.spec.placement.PlatformSpec;
import dev.zlayer.spec.resources.GpuSpec;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Makes the container of a service, job or schedule from what its file says. What concerns more
 * than one container (endpoints, scale, replica groups, dependencies, health, updates, restarts,
 * init steps, job and schedule settings) is not looked at: the engine acts on it elsewhere.
 */
public final class ServiceTranslator {
  /** Labels that every container of ours has. */
  public static final String DEPLOYMENT = "com.zlayer.deployment";

  public static final String SERVICE = "com.zlayer.service";

  private static final Duration GRACE = Duration.ofSeconds(10);
  private static final int LOG_FILES = 4;
  private static final long SMALLEST_LOG_FILE = 64 << 10;

  private final EnvResolver resolver;
  private final ContainerResolver containers;
  private final SecretMounts secrets;

  public ServiceTranslator(EnvResolver resolver, ContainerResolver containers) {
    this(resolver, containers, SecretMounts.NONE);
  }

  public ServiceTranslator(
      EnvResolver resolver, ContainerResolver containers, SecretMounts secrets) {
    this.resolver = resolver;
    this.containers = containers;
    this.secrets = secrets;
  }

  /**
   * Translates one service.
   *
   * @param directory where relative paths of the file start
   * @throws dev.zlayer.error.AgentException.Unsupported fields cannot be honoured; all are named
   *     with their paths
   * @throws dev.zlayer.error.AgentException.NotFound a variable, secret or container that is
   *     referred to does not exist
   */
  public ContainerSpec translate(
      String deployment, String name, ServiceSpec service, Path directory) {
    requireSharing(service);
    SupportCheck.require(service, name);
    if (deployment.equals(ContainerId.STANDALONE) && !BucketMount.of(service).isEmpty()) {
      throw new AgentException.Unsupported(
          "services.%s.%s: only services and jobs are given buckets"
              .formatted(name, BucketMount.of(service).getFirst().storage()));
    }
    var shared = new SharedNamespaces(containers, deployment);
    return new ContainerSpec(
        service.image().name(),
        service.placement().platform().map(ServiceTranslator::platform),
        ProcessSection.of(service, resolver.resolve(deployment, service.env())),
        WasmSection.mounts(
            service,
            directory,
            StorageSection.of(service, directory, secretFiles(deployment, service))),
        NetworkSection.of(service.networking(), shared),
        WasmSection.resources(service, ResourcesSection.of(service)),
        SecuritySection.of(service.security(), shared),
        GpuSection.of(service.resources()),
        logs(service.logs()),
        new StopSpec(
            service.process().stopSignal().map(signal -> new Signal(signal.number())),
            service.process().stopGracePeriod().orElse(GRACE)),
        labels(deployment, name, service));
  }

  /**
   * The container of a service that has no replicas here, which no container is made from: as
   * {@link #translate}, but a node of a cluster may lack its secrets.
   */
  public ContainerSpec outline(
      String deployment, String name, ServiceSpec service, Path directory) {
    EnvResolver without = resolver.outline(deployment);
    var translator =
        without.equals(resolver)
            ? this
            : new ServiceTranslator(
                without,
                containers,
                (file, _) -> new Mount.Bind(Path.of(file.path()), file.path(), true));
    return translator.translate(deployment, name, service, directory);
  }

  /** A virtual machine of its own has no pipe to the daemon that shares the GPU. */
  private static void requireSharing(ServiceSpec service) {
    boolean mps =
        service
            .resources()
            .gpu()
            .flatMap(GpuSpec::effectiveSharing)
            .filter(GpuSpec.Sharing.MPS::equals)
            .isPresent();
    if (mps
        && service.placement().isolation().equals(Optional.of(PlacementSpec.Isolation.HYPERV))) {
      throw new AgentException.GpuSharingUnavailable(
          "mps", "isolation: hyperv has no access to the host's MPS daemon; write process");
    }
  }

  private List<Mount> secretFiles(String deployment, ServiceSpec service) {
    return service.secrets().stream()
        .map(file -> secrets.file(file, resolver.secret(deployment, file.name())))
        .toList();
  }

  private static Platform platform(PlatformSpec spec) {
    String os = spec.os() == PlatformSpec.Os.MACOS ? "darwin" : spec.os().name();
    return new Platform(
        os.toLowerCase(Locale.ROOT),
        spec.arch().name().toLowerCase(Locale.ROOT),
        Optional.empty(),
        spec.osVersion());
  }

  private static LogSpec logs(LogsSpec logs) {
    long bytes = logs.maxSizeBytes().bytes() / LOG_FILES;
    LogSpec kept =
        new LogSpec(Math.max(SMALLEST_LOG_FILE, bytes), LOG_FILES)
            .withRetention(logs.retentionSecs());
    return switch (logs.destination()) {
      case DISK -> kept;
      case MEMORY -> kept.withMemory();
    };
  }

  private static Map<String, String> labels(String deployment, String name, ServiceSpec service) {
    var labels = new HashMap<>(service.labels());
    labels.putAll(WasmSection.labels(service));
    labels.putAll(BucketMount.labels(BucketMount.of(service)));
    labels.put(DEPLOYMENT, deployment);
    labels.put(SERVICE, name);
    return labels;
  }
}
