package dev.zlayer.daemon.docker;

import dev.zlayer.container.ContainerId;
import dev.zlayer.daemon.standalone.StandaloneContainers;
import dev.zlayer.port.Container;
import java.util.function.Predicate;

/** Keeps clients from changing what a deployment or a job would change back. */
final class OwnedContainers {
  private final Predicate<String> deployments;

  /** {@code deployments} says whether there is one of that name. */
  OwnedContainers(Predicate<String> deployments) {
    this.deployments = deployments;
  }

  /** Refuses for a container that has an owner; the verb is what to use instead. */
  void require(Container container, String verb) {
    ContainerId id = container.id();
    boolean single = id.deployment().equals(ContainerId.NO_DEPLOYMENT);
    boolean owned = single || deployments.test(id.deployment());
    if (StandaloneContainers.standalone(id) || !owned) {
      return;
    }
    String command =
        id.role().equals(ContainerId.JOB_ROLE)
            ? "job cancel"
            : verb.equals("up") || verb.equals("down")
                ? verb + " " + id.deployment()
                : verb + " " + id.deployment() + "/" + id.service();
    throw DockerError.conflict(
        "container %s belongs to %s, which decides whether it runs: use 'zlayer %s'"
            .formatted(
                ContainerNames.of(container),
                single
                    ? "job '%s'".formatted(id.service())
                    : "deployment '%s'".formatted(id.deployment()),
                command));
  }
}
