package dev.zlayer.daemon.docker;

import dev.zlayer.daemon.ResourceEvents;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.error.AgentException;
import dev.zlayer.image.archive.NewImage;
import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.ImageRemoval;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/** Images that are here. */
final class DockerImages implements Resource {
  private static final Set<String> FILTERS =
      Set.of("dangling", "label", "label!", "before", "since", "reference", "until");
  private static final Set<String> PRUNE_FILTERS = Set.of("dangling", "until", "label", "label!");

  private final ContainerRuntime runtime;
  private final DockerImageIndex index;
  private final ResourceEvents events;
  private final InstantSource clock;

  DockerImages(ContainerRuntime runtime, ResourceEvents events, InstantSource clock) {
    this.runtime = runtime;
    this.index = new DockerImageIndex(runtime.images());
    this.events = events;
    this.clock = clock;
  }

  @Override
  public String title() {
    return "Images";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.get("/images/json", "List images.", this::list),
        Route.get("/images/{name*}/json", "Show an image.", this::inspect),
        Route.get("/images/{name*}/history", "Show how an image was made.", this::history),
        Route.post("/images/{name*}/tag", "Give an image another name.", this::tag),
        Route.delete(
                "/images/{name*}", "Remove a name, and the image with its last one.", this::remove)
            .freeing(),
        Route.get("/images/search", "Refused: registries are not searched.", DockerImages::search),
        Route.post("/images/prune", "Remove unused images.", this::prune).freeing());
  }

  private ApiResponse list(ApiRequest call) {
    DockerFilters filters = DockerQuery.filters(call, FILTERS);
    Optional<Instant> before = filters.get("before").stream().findFirst().map(this::created);
    Optional<Instant> since = filters.get("since").stream().findFirst().map(this::created);
    Optional<Instant> until = until(filters);
    var images = new ArrayList<ImageDetails>();
    for (ImageInfo info : runtime.images().list()) {
      Optional<ImageDetails> details = index.of(info).map(DockerImageIndex.Found::details);
      Instant made = info.createdAt().orElse(Instant.EPOCH);
      boolean dangling = info.references().isEmpty();
      if (details.isPresent()
          && filters.flag("dangling").map(wanted -> wanted == dangling).orElse(true)
          && filters.labels(details.get().run().labels())
          && before.map(made::isBefore).orElse(true)
          && since.map(made::isAfter).orElse(true)
          && until.map(made::isBefore).orElse(true)
          && filters.any("reference", pattern -> named(info, pattern))) {
        images.add(onlyNamed(details.get(), filters));
      }
    }
    images.sort(
        Comparator.comparing((ImageDetails image) -> image.info().createdAt().orElse(Instant.EPOCH))
            .reversed());
    boolean older = DockerEngineApi.before(call, "1.43");
    return ApiResponse.json(
        Json.of(
            images.stream()
                .map(image -> ImageWire.summary(image, -1))
                .map(image -> older ? ImageWire.older(image) : image)
                .toList()));
  }

  private Instant created(String reference) {
    return index.require(reference).details().info().createdAt().orElse(Instant.EPOCH);
  }

  private Optional<Instant> until(DockerFilters filters) {
    return filters.get("until").stream()
        .findFirst()
        .map(text -> DockerTimes.before(text, clock.instant()));
  }

  /** A filter by name also hides the other names of an image. */
  private static ImageDetails onlyNamed(ImageDetails image, DockerFilters filters) {
    ImageInfo info = image.info();
    List<ImageRef> names =
        info.references().stream()
            .filter(name -> filters.any("reference", pattern -> named(name, pattern)))
            .toList();
    return new ImageDetails(
        info.withReferences(names),
        image.config(),
        image.layers(),
        image.annotations(),
        image.author(),
        image.run(),
        image.history());
  }

  private static boolean named(ImageInfo info, String pattern) {
    return info.references().stream().anyMatch(name -> named(name, pattern));
  }

  /** Whether a name is like {@code busy*} or {@code busybox:1.*}. */
  private static boolean named(ImageRef reference, String pattern) {
    Pattern name = glob(pattern);
    return name.matcher(reference.familiar()).matches()
        || name.matcher(ImageWire.bare(reference)).matches();
  }

  static Pattern glob(String pattern) {
    var regex = new StringBuilder();
    for (int at = 0; at < pattern.length(); at++) {
      char letter = pattern.charAt(at);
      switch (letter) {
        case '*' -> regex.append("[^/]*");
        case '?' -> regex.append("[^/]");
        default -> regex.append(Pattern.quote(String.valueOf(letter)));
      }
    }
    return Pattern.compile(regex.toString());
  }

  private ApiResponse inspect(ApiRequest call) {
    ImageDetails image = index.require(call.path("name")).details();
    return ApiResponse.json(ImageWire.inspect(image, parent(image)));
  }

  /** The id of the image that one was committed over; empty for any other. */
  private String parent(ImageDetails image) {
    boolean committed =
        !image.history().isEmpty()
            && image.history().getLast().createdBy().equals(NewImage.COMMITTED);
    if (!committed) {
      return "";
    }
    var layers = image.layers().subList(0, image.layers().size() - 1);
    var history = image.history().subList(0, image.history().size() - 1);
    return runtime.images().list().stream()
        .flatMap(info -> index.of(info).stream())
        .filter(found -> found.details().layers().equals(layers))
        .filter(found -> found.details().history().equals(history))
        .map(DockerImageIndex.Found::id)
        .findFirst()
        .orElse("");
  }

  private ApiResponse history(ApiRequest call) {
    return ApiResponse.json(ImageWire.history(index.require(call.path("name")).details()));
  }

  private ApiResponse tag(ApiRequest call) {
    DockerImageIndex.Found found = index.require(call.path("name"));
    ImageRef target = reference(call.required("repo"), DockerQuery.text(call, "tag"));
    runtime.images().tag(found.reference(), target);
    events.image("tag", found.details(), target);
    return new ApiResponse.Whole(201, "", new byte[0], java.util.Map.of());
  }

  /** A name with a tag of its own or one beside it. */
  static ImageRef reference(String name, Optional<String> tag) {
    try {
      if (tag.isEmpty()) {
        return ImageRef.parse(name);
      }
      return ImageRef.parse(name + (tag.get().contains(":") ? "@" : ":") + tag.get());
    } catch (AgentException.InvalidSpec e) {
      throw DockerError.badRequest("invalid reference format: " + e.getMessage());
    }
  }

  private static ApiResponse search(ApiRequest call) {
    throw DockerError.notImplemented(
        "images/search: registries are not searched; use the web page of the registry");
  }

  private ApiResponse remove(ApiRequest call) {
    String asked = call.path("name");
    DockerImageIndex.Found found = index.require(asked);
    boolean force = DockerQuery.flag(call, "force");
    ImageInfo info = found.details().info();
    boolean byId = !named(found, asked);
    if (byId && ImageWire.tags(info).size() > 1 && !force) {
      throw DockerError.conflict(
          "conflict: unable to delete %s (must be forced) - image is referenced in multiple"
                  .formatted(found.details().config().brief())
              + " repositories");
    }
    ImageRef target =
        byId && info.references().size() == 1 ? info.references().getFirst() : found.reference();
    if (byId && info.references().size() > 1) {
      target = found.reference().withDigest(info.digest());
    }
    ImageRemoval removal = removed(found, target, asked, force);
    boolean deleted =
        runtime.images().list().stream().noneMatch(one -> one.digest().equals(info.digest()));
    List<String> untagged = removal.untagged().stream().map(DockerImages::familiar).toList();
    for (String name : untagged) {
      events.image("untag", found.details(), ImageRef.parse(name));
    }
    if (deleted) {
      events.image("delete", found.details(), found.reference());
    }
    return ApiResponse.json(
        ImageWire.removal(untagged, deleted ? List.of(found.details().config()) : List.of()));
  }

  private static String familiar(String canonical) {
    return ImageRef.parse(canonical).familiar();
  }

  private static boolean named(DockerImageIndex.Found found, String asked) {
    try {
      ImageRef reference = ImageRef.parse(asked);
      return found.details().info().references().contains(reference);
    } catch (AgentException.InvalidSpec _) {
      return false;
    }
  }

  private ImageRemoval removed(
      DockerImageIndex.Found found, ImageRef target, String asked, boolean force) {
    Digest digest = found.details().info().digest();
    List<Container> users =
        ImageWire.tags(found.details().info()).size() > 1
            ? List.of()
            : runtime.list().stream().filter(container -> uses(container, digest)).toList();
    Optional<Container> running =
        users.stream().filter(container -> container.status().alive()).findFirst();
    if (running.isPresent()) {
      throw DockerError.conflict(
          "conflict: unable to remove repository reference \"%s\" (%s) - container %s is using its"
                  .formatted(
                      asked,
                      force ? "cannot be forced" : "must force",
                      DockerContainerIndex.id(running.get()).substring(0, 12))
              + " referenced image "
              + found.details().config().brief());
    }
    if (!users.isEmpty() && !force) {
      throw DockerError.conflict(
          "conflict: unable to remove repository reference \"%s\" (must force) - container %s is"
                  .formatted(asked, DockerContainerIndex.id(users.getFirst()).substring(0, 12))
              + " using its referenced image "
              + found.details().config().brief());
    }
    return runtime.images().remove(target, force || !users.isEmpty());
  }

  private static boolean uses(Container container, Digest image) {
    try {
      return container.inspect().imageDigest().filter(image::equals).isPresent();
    } catch (AgentException.NotFound _) {
      return false; // removed meanwhile
    }
  }

  private ApiResponse prune(ApiRequest call) {
    DockerFilters filters = DockerQuery.filters(call, PRUNE_FILTERS);
    boolean danglingOnly = filters.flag("dangling").orElse(true);
    Optional<Instant> until = until(filters);
    var untagged = new ArrayList<String>();
    var deleted = new ArrayList<Digest>();
    long reclaimed = 0;
    for (ImageInfo info : runtime.images().list()) {
      Optional<DockerImageIndex.Found> found = index.of(info);
      boolean goes =
          found.isPresent()
              && (!danglingOnly || info.references().isEmpty())
              && filters.labels(found.get().details().run().labels())
              && until.map(info.createdAt().orElse(Instant.EPOCH)::isBefore).orElse(true)
              && runtime.list().stream().noneMatch(one -> uses(one, info.digest()));
      if (goes) {
        try {
          ImageRef all =
              info.references().isEmpty()
                  ? found.get().reference()
                  : info.references().getFirst().withDigest(info.digest());
          ImageRemoval removal = runtime.images().remove(all, info.references().size() > 1);
          removal.untagged().stream().map(DockerImages::familiar).forEach(untagged::add);
          deleted.add(found.get().details().config());
          reclaimed += removal.reclaimedBytes();
          events.image("delete", found.get().details(), found.get().reference());
        } catch (AgentException.Conflict | AgentException.NotFound _) {
          // used or removed meanwhile
        }
      }
    }
    events.record("image", "prune", "", java.util.Map.of("reclaimed", String.valueOf(reclaimed)));
    return ApiResponse.json(
        Json.object()
            .put(
                "ImagesDeleted",
                untagged.isEmpty() && deleted.isEmpty()
                    ? Json.Null.INSTANCE
                    : ImageWire.removal(untagged, deleted))
            .put("SpaceReclaimed", reclaimed)
            .build());
  }
}
