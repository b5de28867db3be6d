package dev.zlayer.daemon.docker;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.engine.volume.VolumeStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.runtime.cni.DeploymentBridges;
import dev.zlayer.runtime.cni.NamedNetwork;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Finds containers by id, by a unique beginning of it, or by name. A container made here carries
 * its id on a label; that of any other is derived from its identity and from when it was made, so
 * ids outlive the agent and are never used twice.
 */
public final class DockerContainerIndex {
  /** Where the id of a container made through this API is recorded. */
  static final String ID = "com.zlayer.docker.id";

  private static final int BYTES = 32;
  private static final Pattern HEX = Pattern.compile("[0-9a-f]{1,64}");

  /** How much of an id people see, and the usual name of a host. */
  static final int SHORT = 12;

  private final ContainerRuntime runtime;
  private final VolumeStore volumes;
  private final DockerAllow allow;

  DockerContainerIndex(ContainerRuntime runtime, VolumeStore volumes, DockerAllow allow) {
    this.runtime = runtime;
    this.volumes = volumes;
    this.allow = allow;
  }

  static String newId(RandomGenerator random) {
    var bytes = new byte[BYTES];
    random.nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  /** The 64 hexadecimal digits of a container. */
  static String id(Container container) {
    String recorded = container.spec().labels().get(ID);
    return recorded == null
        ? derived(container.id().path() + "\0" + container.inspect().createdAt())
        : recorded;
  }

  /** 64 hexadecimal digits that stand for a text. */
  static String derived(String text) {
    try {
      return HexFormat.of()
          .formatHex(
              MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  /**
   * The container that somebody means.
   *
   * @throws DockerError there is none, or several ids begin so
   */
  Container find(String reference) {
    return search(reference).orElseThrow(() -> DockerError.noSuchContainer(reference));
  }

  /** The same for who wants to get into it, or something out of it. */
  Container enter(String reference) {
    Container container = find(reference);
    allow.requireEntry(container);
    return container;
  }

  /**
   * Refuses a network of a deployment, or of containers that are closed to this socket: who is on
   * it reaches what they publish nowhere.
   *
   * @param users the containers that are on it
   */
  void requireNetwork(String network, List<String> users) {
    if (network.equals(NamedNetwork.DEFAULT)) {
      return; // everybody's
    }
    if (DeploymentBridges.owns(network)) {
      allow.requireDeployments("network " + network);
    }
    for (Container container : runtime.list()) {
      if (users.contains(container.id().runtimeName())) {
        allow.requireEntry(container);
      }
    }
  }

  /** Refuses volumes of deployments, and of containers that are closed to this socket. */
  void requireVolumes(ContainerSpec spec) {
    Set<String> wanted = volumes(spec);
    if (wanted.isEmpty()) {
      return;
    }
    for (Container container : runtime.list()) {
      if (!allow.enters(container)
          && volumes(container.spec()).stream().anyMatch(wanted::contains)) {
        allow.requireEntry(container);
      }
    }
    for (String volume : wanted) { // also while it has no containers
      if (!volumes.deployments(volume).isEmpty()) {
        allow.requireDeployments("volume " + volume);
      }
    }
  }

  private static Set<String> volumes(ContainerSpec spec) {
    return spec.fileSystem().mounts().stream()
        .filter(Mount.Named.class::isInstance)
        .map(mount -> ((Mount.Named) mount).name())
        .collect(Collectors.toSet());
  }

  /** As {@link #find}; empty when there is none. */
  Optional<Container> search(String reference) {
    String name = reference.startsWith("/") ? reference.substring(1) : reference;
    if (name.isEmpty()) {
      return Optional.empty();
    }
    List<Container> all = runtime.list();
    boolean hex = HEX.matcher(name).matches();
    var begun = new ArrayList<Container>();
    for (Container container : hex ? all : List.<Container>of()) {
      try {
        if (id(container).startsWith(name)) {
          if (name.length() == 2 * BYTES) {
            return Optional.of(container);
          }
          begun.add(container);
        }
      } catch (AgentException.NotFound _) {
        // removed meanwhile
      }
    }
    var named = new ArrayList<Container>();
    for (Container container : all) {
      try {
        if (ContainerNames.of(container).equals(name)) {
          named.add(container);
        }
      } catch (AgentException.NotFound _) {
        // removed meanwhile
      }
    }
    if (!named.isEmpty()) {
      return named.stream().max(NEWEST);
    }
    if (begun.size() > 1) {
      throw DockerError.badRequest("Multiple IDs found with provided prefix: " + reference);
    }
    return begun.stream().findFirst();
  }

  /** Successive containers of a replica may exist side by side; the running, newer one is meant. */
  private static final Comparator<Container> NEWEST =
      Comparator.<Container, Boolean>comparing(container -> container.status().alive())
          .thenComparingLong(container -> container.id().generation());

  /** The handle of an identity that is known. */
  Optional<Container> find(ContainerId id) {
    return runtime.find(id);
  }

  List<Container> list() {
    return runtime.list();
  }

  boolean taken(String name) {
    return runtime.list().stream()
        .anyMatch(
            container -> {
              try {
                return ContainerNames.of(container).equals(name);
              } catch (AgentException.NotFound _) {
                return false;
              }
            });
  }
}
