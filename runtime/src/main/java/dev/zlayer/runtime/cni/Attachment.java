package dev.zlayer.runtime.cni;

import dev.zlayer.container.ContainerDetails.PortBinding;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * A network namespace that belongs to one container.
 *
 * @param netns the file that names the namespace; a container joins it by this path
 * @param ip empty when the container has loopback only
 * @param ipv6 when its network has two stacks
 * @param ports as they are really published, ephemeral ones resolved
 */
public record Attachment(
    Path netns,
    Optional<InetAddress> ip,
    Optional<InetAddress> ipv6,
    Optional<InetAddress> gateway,
    List<PortBinding> ports) {
  public Attachment {
    ports = List.copyOf(ports);
  }
}
