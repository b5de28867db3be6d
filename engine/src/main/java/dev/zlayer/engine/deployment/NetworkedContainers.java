package dev.zlayer.engine.deployment;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.engine.job.JobContainers;
import dev.zlayer.engine.job.JobDefinition;
import dev.zlayer.engine.job.Overrides;
import dev.zlayer.engine.job.TranslatedContainers;
import dev.zlayer.engine.service.ReplicaContainers;
import dev.zlayer.engine.translate.ServiceTranslator;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.DeploymentNetworks;
import dev.zlayer.spec.ServiceSpec;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Containers of services and jobs inside the network of their deployment. A file that names another
 * network, or name servers of its own, is obeyed.
 */
public final class NetworkedContainers implements JobContainers, ReplicaContainers {
  private final ServiceTranslator translator;
  private final TranslatedContainers jobs;
  private final DeploymentNetworks networks;

  public NetworkedContainers(
      ServiceTranslator translator, DeploymentNetworks networks, DeploymentStore deployments) {
    this.translator = translator;
    this.jobs = new TranslatedContainers(translator, deployments::directory);
    this.networks = networks;
  }

  @Override
  public ContainerSpec spec(JobDefinition job, Overrides overrides) {
    ContainerSpec spec = jobs.spec(job, overrides);
    if (job.key().single()) {
      return spec; // on the network of containers that belong to no deployment
    }
    try {
      return joined(job.key().deployment(), spec);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("interrupted while making a network");
    }
  }

  /** As {@link ServiceTranslator#translate}, and the network is made when it is not there. */
  @Override
  public ContainerSpec spec(String deployment, String name, ServiceSpec service, Path directory)
      throws InterruptedException {
    return joined(deployment, translator.translate(deployment, name, service, directory));
  }

  /** Without the network, of which a machine has only so many. */
  @Override
  public ContainerSpec outline(
      String deployment, String name, ServiceSpec service, Path directory) {
    return translator.outline(deployment, name, service, directory);
  }

  private ContainerSpec joined(String deployment, ContainerSpec spec) throws InterruptedException {
    NetworkSpec own = spec.network();
    if (!own.mode().equals(new NetworkSpec.Mode.Bridge(Optional.empty()))) {
      return spec;
    }
    DeploymentNetworks.Network network = networks.make(deployment);
    boolean named = !own.dns().isEmpty();
    return spec.withNetwork(
        new NetworkSpec(
            new NetworkSpec.Mode.Bridge(network.name()),
            own.hostname(),
            own.ports(),
            named ? own.dns() : network.dns(),
            named ? own.dnsSearch() : network.search(),
            own.hosts()));
  }
}
