package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.init.StartPhase;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.Images;
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
      parts.put(role.name(), new Resolved.Part(role.service(), pinned(role, known, wanted), hash));
    }
    return new Resolved(parts, known, wanted.outline());
  }

  /**
   * The image by its digest where that is remembered: its tag may mean another one by now. Where
   * the runtime does not find it so, the tag will do as long as it means the same.
   */
  private ContainerSpec pinned(Role role, String known, Effect.Resolve wanted)
      throws InterruptedException {
    ContainerSpec spec = role.spec();
    Optional<Digest> digest = digest(role.name(), known);
    if (digest.isEmpty() || wanted.outline() || spec.image().digest().isPresent()) {
      return spec;
    }
    Images images = runtime.images();
    ImageRef exact = spec.image().withDigest(digest.get());
    boolean here = images.find(exact).isPresent();
    boolean moved =
        images.find(spec.image()).filter(at -> at.info().digest().equals(digest.get())).isEmpty();
    if (!here && moved) {
      ImageInfo _ =
          images.pull(
              new PullRequest(exact, PullPolicy.IF_NOT_PRESENT, spec.platform(), Optional.empty()),
              _ -> {});
    }
    return here || moved ? spec.withImage(exact) : spec;
  }

  private static Optional<Digest> digest(String role, String known) {
    for (String part : known.split(",", -1)) {
      if (part.startsWith(role + "=")) {
        return Optional.of(Digest.parse(part.substring(role.length() + 1)));
      }
    }
    return Optional.empty();
  }

  /** What the images are at the registry now, in the form in which they are remembered. */
  String newest(ServiceKey key, ServiceRevision blueprint) throws InterruptedException {
    List<String> newest = new ArrayList<>();
    var outline = new Effect.Resolve(blueprint, true);
    for (Map.Entry<String, ServiceSpec> role : roles(blueprint.spec()).entrySet()) {
      PullPolicy policy = role.getValue().image().pullPolicy();
      if (policy == PullPolicy.ALWAYS || policy == PullPolicy.NEWER) {
        ContainerSpec spec = spec(key, outline, role.getValue());
        newest.add(role.getKey() + "=" + pull(key, spec, PullPolicy.ALWAYS, (_, _) -> {}).digest());
      }
    }
    return String.join(",", newest);
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
