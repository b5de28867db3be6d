package dev.zlayer.container;

import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import java.util.Map;
import java.util.Optional;

/**
 * Everything a runtime needs to make one container. References to secrets and host variables are
 * resolved, durations and sizes parsed, defaults of the deployment file applied; what the image
 * itself says (entrypoint, env, user ...) is not, since only the runtime knows the image.
 *
 * <p>A runtime honours each part or refuses with {@link
 * dev.zlayer.error.AgentException.Unsupported} naming it.
 */
public record ContainerSpec(
    ImageRef image,
    Optional<Platform> platform,
    ProcessSpec process,
    FileSystemSpec fileSystem,
    NetworkSpec network,
    Resources resources,
    SecuritySpec security,
    Optional<GpuRequest> gpu,
    LogSpec logs,
    StopSpec stop,
    Map<String, String> labels) {
  public ContainerSpec {
    labels = Map.copyOf(labels);
  }

  /** The image's own command with every default. */
  public static ContainerSpec of(ImageRef image) {
    return new ContainerSpec(
        image,
        Optional.empty(),
        ProcessSpec.DEFAULT,
        FileSystemSpec.DEFAULT,
        NetworkSpec.DEFAULT,
        Resources.DEFAULT,
        SecuritySpec.DEFAULT,
        Optional.empty(),
        LogSpec.DEFAULT,
        StopSpec.DEFAULT,
        Map.of());
  }

  public ContainerSpec withPlatform(Platform platform) {
    return new ContainerSpec(
        image,
        Optional.of(platform),
        process,
        fileSystem,
        network,
        resources,
        security,
        gpu,
        logs,
        stop,
        labels);
  }

  public ContainerSpec withProcess(ProcessSpec process) {
    return new ContainerSpec(
        image,
        platform,
        process,
        fileSystem,
        network,
        resources,
        security,
        gpu,
        logs,
        stop,
        labels);
  }

  public ContainerSpec withFileSystem(FileSystemSpec fileSystem) {
    return new ContainerSpec(
        image,
        platform,
        process,
        fileSystem,
        network,
        resources,
        security,
        gpu,
        logs,
        stop,
        labels);
  }

  public ContainerSpec withNetwork(NetworkSpec network) {
    return new ContainerSpec(
        image,
        platform,
        process,
        fileSystem,
        network,
        resources,
        security,
        gpu,
        logs,
        stop,
        labels);
  }

  public ContainerSpec withResources(Resources resources) {
    return new ContainerSpec(
        image,
        platform,
        process,
        fileSystem,
        network,
        resources,
        security,
        gpu,
        logs,
        stop,
        labels);
  }

  public ContainerSpec withSecurity(SecuritySpec security) {
    return new ContainerSpec(
        image,
        platform,
        process,
        fileSystem,
        network,
        resources,
        security,
        gpu,
        logs,
        stop,
        labels);
  }

  public ContainerSpec withGpu(GpuRequest gpu) {
    return new ContainerSpec(
        image,
        platform,
        process,
        fileSystem,
        network,
        resources,
        security,
        Optional.of(gpu),
        logs,
        stop,
        labels);
  }

  public ContainerSpec withLogs(LogSpec logs) {
    return new ContainerSpec(
        image,
        platform,
        process,
        fileSystem,
        network,
        resources,
        security,
        gpu,
        logs,
        stop,
        labels);
  }

  public ContainerSpec withStop(StopSpec stop) {
    return new ContainerSpec(
        image,
        platform,
        process,
        fileSystem,
        network,
        resources,
        security,
        gpu,
        logs,
        stop,
        labels);
  }

  public ContainerSpec withImage(ImageRef image) {
    return new ContainerSpec(
        image,
        platform,
        process,
        fileSystem,
        network,
        resources,
        security,
        gpu,
        logs,
        stop,
        labels);
  }

  public ContainerSpec withLabels(Map<String, String> labels) {
    return new ContainerSpec(
        image,
        platform,
        process,
        fileSystem,
        network,
        resources,
        security,
        gpu,
        logs,
        stop,
        labels);
  }
}
