package dev.zlayer.daemon.docker;

import dev.zlayer.daemon.ResourceEvents;
import dev.zlayer.daemon.build.ImageBuilder;
import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.daemon.standalone.StandaloneContainers;
import dev.zlayer.engine.deployment.Deployments;
import dev.zlayer.engine.secret.Redaction;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.engine.volume.VolumeStore;
import dev.zlayer.image.ImageStore;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.runtime.cni.Networks;
import dev.zlayer.runtime.oci.tool.OciTools;
import dev.zlayer.task.Pauses;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * What the resources of the Docker Engine API work on: the same as those of the agent's own API.
 *
 * @param version that of the agent
 * @param replicas what happens to containers of deployments
 * @param tools the programs that run Linux containers, where any do
 */
public record DockerResources(
    String version,
    AgentConfig config,
    ContainerRuntime runtime,
    StandaloneContainers standalone,
    Deployments deployments,
    ImageStore images,
    ImageBuilder builder,
    VolumeStore volumes,
    Optional<Networks> networks,
    StateStore store,
    Supplier<Redaction> redaction,
    ExecRegistry execs,
    ReplicaEvents replicas,
    Optional<OciTools> tools,
    InstantSource clock) {
  /** All of them, in the order of the reference. */
  public List<Resource> all() {
    var allow = DockerAllow.of(config.dockerAllow());
    var index = new DockerContainerIndex(runtime, volumes, allow);
    var imageIndex = new DockerImageIndex(runtime.images());
    var endpoints = new ContainerEndpoints(networks, index);
    var summary = new ContainerSummary(endpoints, config.directories().volumes());
    var owned = new OwnedContainers(name -> deployments.find(name).isPresent());
    RandomGenerator random = new java.security.SecureRandom();
    var creation = new DockerCreate(standalone, index, imageIndex, endpoints, allow, random);
    var events = new ResourceEvents(store, clock);
    RecentEvents recent = replicas.recent();
    var volumeResource = new DockerVolumes(volumes, index, store, events);
    return List.of(
        new DockerContainers(
            index,
            imageIndex,
            standalone,
            creation,
            summary,
            new ContainerJson(summary, endpoints),
            execs,
            owned,
            recent,
            clock),
        new DockerLifecycle(index, standalone, owned, recent),
        new DockerStreams(index, standalone, redaction, recent, clock),
        new DockerFiles(index, recent),
        new DockerStats(index, Pauses.REAL, Runtime.getRuntime().availableProcessors()),
        new DockerExec(index, execs, allow, recent, random),
        new DockerImages(runtime, events, clock),
        new ImageTransfer(runtime, index, images, events, recent),
        new DockerBuild(builder, imageIndex, allow),
        volumeResource,
        new DockerNetworks(runtime, index, networks, events, clock),
        new DockerSystem(version, tools),
        new DockerInfo(config, runtime, images, volumes, volumeResource, tools, recent, clock),
        new DockerEvents(store, recent, clock),
        new SwarmRefusals());
  }
}
