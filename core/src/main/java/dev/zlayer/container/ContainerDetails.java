package dev.zlayer.container;

import dev.zlayer.oci.Digest;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * All that a runtime knows of one container at one moment.
 *
 * @param name the name given by {@link dev.zlayer.port.Renamable}, else the runtime's name
 * @param ipv6 when its network has two stacks
 * @param command what runs, after the image's and the spec's parts were joined
 */
public record ContainerDetails(
    ContainerId id,
    String name,
    String runtime,
    ContainerSpec spec,
    Optional<Digest> imageDigest,
    List<String> command,
    ContainerStatus status,
    Instant createdAt,
    int restarts,
    Optional<InetAddress> ip,
    Optional<InetAddress> ipv6,
    List<PortBinding> ports,
    Optional<Path> rootFileSystem) {
  public ContainerDetails {
    command = List.copyOf(command);
    ports = List.copyOf(ports);
  }

  public ContainerDetails withLabels(Map<String, String> labels) {
    return new ContainerDetails(
        id,
        name,
        runtime,
        spec.withLabels(labels),
        imageDigest,
        command,
        status,
        createdAt,
        restarts,
        ip,
        ipv6,
        ports,
        rootFileSystem);
  }

  /** A port as it is really published. */
  public record PortBinding(
      InetAddress hostIp, int hostPort, int containerPort, NetworkSpec.Protocol protocol) {}
}
