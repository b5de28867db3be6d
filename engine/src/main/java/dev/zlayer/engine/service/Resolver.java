package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.init.StartPhase;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PullRequest;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.service.ReplicaGroup;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;

/**
 * Turns a blueprint into what containers are made from. Images are brought in here, once per
 * revision; where the file asks for the newest, what the image was then becomes part of what is
 * wanted, so that deploying again takes up a newer one and a crash does not.
 */
final class Resolver {
  private record Role(String name, ServiceSpec service, ContainerSpec spec) {}

  private final ContainerRuntime runtime;
  private final ReplicaContainers containers;
  private final String salt;

  /** {@code salt} keeps what is secret from being guessed by comparing hashes. */
  Resolver(ContainerRuntime runtime, ReplicaContainers containers, String salt) {
    this.runtime = runtime;
    this.containers = containers;
    this.salt = salt;
  }

  /** Blocks while images come in; {@code progress} hears the image and what happens. */
  Resolved resolve(
      ServiceKey key,
      Effect.Resolve wanted,
      Optional<String> images,
      int restarts,
      StartPhase phase,
      BiConsumer<String, PullEvent> progress)
      throws InterruptedException {
    List<Role> roles = new ArrayList<>();
    for (Map.Entry<String, ServiceSpec> role : roles(wanted.blueprint().spec()).entrySet()) {
      roles.add(new Role(role.getKey(), role.getValue(), spec(key, wanted, role.getValue())));
    }
    phase.enter("image pull");
    String known = images.isPresent() ? images.get() : pull(key, roles, progress);
    phase.leave();
    var parts = new LinkedHashMap<String, Resolved.Part>();
    for (Role role : roles) {
      String hash =
          SpecHash.of(
              salt,
              role.spec(),
              role.service().lifecycle().init(),
              known,
              Integer.toString(restarts));
      parts.put(role.name(), new Resolved.Part(role.service(), role.spec(), hash));
    }
    return new Resolved(parts, known, wanted.outline());
  }

  private ContainerSpec spec(ServiceKey key, Effect.Resolve wanted, ServiceSpec service)
      throws InterruptedException {
    Path directory = wanted.blueprint().directory();
    return wanted.outline()
        ? containers.outline(key.deployment(), key.service(), service, directory)
        : containers.spec(key.deployment(), key.service(), service, directory);
  }

  private String pull(ServiceKey key, List<Role> roles, BiConsumer<String, PullEvent> progress)
      throws InterruptedException {
    List<String> newest = new ArrayList<>();
    for (Role role : roles) {
      PullPolicy policy = role.service().image().pullPolicy();
      ImageInfo info = pull(key, role.spec(), policy, progress);
      if (policy == PullPolicy.ALWAYS || policy == PullPolicy.NEWER) {
        newest.add(role.name() + "=" + info.digest());
      }
    }
    return String.join(",", newest);
  }

  private ImageInfo pull(
      ServiceKey key, ContainerSpec spec, PullPolicy policy, BiConsumer<String, PullEvent> progress)
      throws InterruptedException {
    try {
      return runtime
          .images()
          .pull(
              new PullRequest(spec.image(), policy, spec.platform(), Optional.empty()),
              event -> progress.accept(spec.image().familiar(), event));
    } catch (AgentException.RouteToPeer e) {
      throw e.of(key.service());
    }
  }

  /** The service once per role, with what the role has of its own. */
  static Map<String, ServiceSpec> roles(ServiceSpec service) {
    List<ReplicaGroup> groups = service.lifecycle().replicaGroups();
    if (groups.isEmpty()) {
      return Map.of(ContainerId.DEFAULT_ROLE, service);
    }
    var roles = new LinkedHashMap<String, ServiceSpec>();
    groups.forEach(group -> roles.put(group.role(), service.of(group)));
    return roles;
  }
}
