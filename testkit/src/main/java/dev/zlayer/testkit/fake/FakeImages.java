package dev.zlayer.testkit.fake;

import dev.zlayer.container.ContainerId;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.ImageRemoval;
import dev.zlayer.port.Images;
import dev.zlayer.port.PlatformAnswer;
import dev.zlayer.port.PruneFilter;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PullRequest;
import dev.zlayer.port.RegistryAuth;
import dev.zlayer.testkit.image.Content;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Images by name alone. A registry that has every image is behind it, all for linux/amd64, unless
 * {@link #failPull} or {@link #offer} said otherwise; {@link #pulls} tells what was asked for.
 */
public final class FakeImages implements Images {
  private record Stored(Digest digest, Platform platform, Instant pulledAt) {}

  private final FakeWorld world;
  private final Map<ImageRef, Stored> present = new LinkedHashMap<>();
  private final Map<ImageRef, Platform> offered = new HashMap<>();
  private final Map<ImageRef, Supplier<AgentException>> failing = new HashMap<>();
  private final List<PullRequest> pulls = new ArrayList<>();

  FakeImages(FakeWorld world) {
    this.world = world;
  }

  /** Makes an image present without a pull. */
  public void add(ImageRef image) {
    try (var _ = world.lock()) {
      store(image);
    }
  }

  /** The registry has {@code image} for this platform. */
  public void offer(ImageRef image, Platform platform) {
    try (var _ = world.lock()) {
      offered.put(image, platform);
    }
  }

  /** From now on a pull of {@code image} that needs the registry throws this. */
  public void failPull(ImageRef image, Supplier<AgentException> failure) {
    try (var _ = world.lock()) {
      failing.put(image, failure);
    }
  }

  /** All pulls so far, failed ones too. */
  public List<PullRequest> pulls() {
    try (var _ = world.lock()) {
      return List.copyOf(pulls);
    }
  }

  @Override
  public ImageInfo pull(PullRequest request, Consumer<PullEvent> progress) {
    try (var _ = world.lock()) {
      pulls.add(request);
      ImageRef image = request.image();
      if (request.policy() == PullPolicy.NEVER) {
        stored(image);
      } else if (request.policy() != PullPolicy.IF_NOT_PRESENT || !present.containsKey(image)) {
        Optional.ofNullable(failing.get(image))
            .ifPresent(
                failure -> {
                  throw failure.get();
                });
        store(image);
      }
      progress.accept(new PullEvent.Resolved(stored(image).digest(), 0, 0));
      return info(stored(image));
    }
  }

  @Override
  public PlatformAnswer platformOf(ImageRef image, Optional<RegistryAuth> auth) {
    try (var _ = world.lock()) {
      return failing.containsKey(image) && !present.containsKey(image)
          ? new PlatformAnswer.Failing("the registry does not answer")
          : new PlatformAnswer.Recognised(
              List.of(platform(image)), Capabilities.ArtifactKind.ROOT_FILE_SYSTEM);
    }
  }

  @Override
  public List<ImageInfo> list() {
    try (var _ = world.lock()) {
      return present.values().stream().map(this::info).distinct().toList();
    }
  }

  @Override
  public Optional<ImageDetails> find(ImageRef image) {
    try (var _ = world.lock()) {
      return Optional.ofNullable(present.get(image)).map(this::details);
    }
  }

  @Override
  public void tag(ImageRef source, ImageRef target) {
    try (var _ = world.lock()) {
      present.put(target, stored(source));
    }
  }

  @Override
  public ImageRemoval remove(ImageRef image, boolean force) {
    try (var _ = world.lock()) {
      Stored stored = stored(image);
      List<ContainerId> users = world.users(image);
      if (!users.isEmpty() && !force) {
        throw new AgentException.InvalidSpec(
            "image '%s' is used by %s: remove them first or force the removal"
                .formatted(image, users));
      }
      present.remove(image);
      boolean last = present.values().stream().noneMatch(other -> other.equals(stored));
      return new ImageRemoval(
          List.of(image.familiar()), last ? List.of(stored.digest()) : List.of(), 0);
    }
  }

  /** Nothing is ever dangling here, so without {@code all} nothing goes. */
  @Override
  public ImageRemoval prune(PruneFilter filter) {
    try (var _ = world.lock()) {
      var untagged = new ArrayList<String>();
      var deleted = new ArrayList<Digest>();
      for (ImageRef image : List.copyOf(present.keySet())) {
        Instant limit = filter.olderThan().map(world.now()::minus).orElse(Instant.MAX);
        boolean old = stored(image).pulledAt().isBefore(limit);
        if (filter.all() && old && world.users(image).isEmpty()) {
          ImageRemoval removal = remove(image, false);
          untagged.addAll(removal.untagged());
          deleted.addAll(removal.deleted());
        }
      }
      return new ImageRemoval(untagged, deleted, 0);
    }
  }

  /** Throws unless the image is present and for this runtime; needs the world's lock. */
  void require(ImageRef image, FakeRuntime runtime) {
    Platform platform = stored(image).platform();
    Capabilities capabilities = runtime.capabilities();
    if (!capabilities.serves(platform)) {
      throw new AgentException.WrongPlatform(
          runtime.name(),
          capabilities.platforms().toString(),
          platform.toString(),
          image.familiar());
    }
  }

  Optional<Digest> digest(ImageRef image) {
    return Optional.ofNullable(present.get(image)).map(Stored::digest);
  }

  private void store(ImageRef image) {
    byte[] name = image.canonical().getBytes(StandardCharsets.UTF_8);
    present.put(image, new Stored(Content.digest(name), platform(image), world.now()));
  }

  private Platform platform(ImageRef image) {
    return offered.getOrDefault(image, Platform.of("linux", "amd64"));
  }

  private Stored stored(ImageRef image) {
    return Optional.ofNullable(present.get(image))
        .orElseThrow(
            () ->
                new AgentException.NotFound(
                    "image '" + image + "'", "it is not present here: pull it first"));
  }

  private ImageInfo info(Stored stored) {
    List<ImageRef> references =
        present.entrySet().stream()
            .filter(entry -> entry.getValue().equals(stored))
            .map(Map.Entry::getKey)
            .toList();
    return new ImageInfo(
        stored.digest(),
        references,
        Optional.of(stored.platform()),
        Capabilities.ArtifactKind.ROOT_FILE_SYSTEM,
        0,
        Optional.of(stored.pulledAt()));
  }

  private ImageDetails details(Stored stored) {
    var run =
        new ImageDetails.RunConfig(
            List.of(),
            List.of(),
            List.of(),
            Optional.empty(),
            Optional.empty(),
            List.of(),
            List.of(),
            Map.of(),
            Optional.empty(),
            Json.Null.INSTANCE);
    return new ImageDetails(info(stored), stored.digest(), List.of(), Map.of(), "", run, List.of());
  }
}
