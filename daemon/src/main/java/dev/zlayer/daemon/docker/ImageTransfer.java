package dev.zlayer.daemon.docker;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.daemon.ResourceEvents;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.daemon.standalone.WhilePaused;
import dev.zlayer.error.AgentException;
import dev.zlayer.image.ImageStore;
import dev.zlayer.image.RemoteImage;
import dev.zlayer.image.archive.ConfigChange;
import dev.zlayer.image.archive.NewImage;
import dev.zlayer.image.registry.RegistryException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.Exportable;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.Pausable;
import dev.zlayer.port.PullRequest;
import dev.zlayer.port.PushRequest;
import dev.zlayer.port.PushResult;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** Images that come from elsewhere or go there: registries, archives, containers. */
final class ImageTransfer implements Resource {
  private final ContainerRuntime runtime;
  private final ImageStore store;
  private final DockerImageIndex index;
  private final DockerContainerIndex containers;
  private final ResourceEvents events;
  private final RecentEvents recent;

  ImageTransfer(
      ContainerRuntime runtime,
      DockerContainerIndex containers,
      ImageStore store,
      ResourceEvents events,
      RecentEvents recent) {
    this.runtime = runtime;
    this.store = store;
    this.index = new DockerImageIndex(runtime.images());
    this.containers = containers;
    this.events = events;
    this.recent = recent;
  }

  @Override
  public String title() {
    return "Images, from and to elsewhere";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.post("/images/create", "Pull an image, or import one.", this::create),
        Route.post("/images/{name*}/push", "Push an image to its registry.", this::push),
        Route.get("/images/get", "Save images to an archive.", this::saveMany),
        Route.get("/images/{name*}/get", "Save an image to an archive.", this::saveOne),
        Route.post("/images/load", "Load images from an archive.", this::load),
        Route.post("/commit", "Create an image from a container's changes.", this::commit),
        Route.get(
            "/distribution/{name*}/json", "Show what a registry has for a name.", this::remote));
  }

  private ApiResponse create(ApiRequest call) throws InterruptedException {
    Optional<String> image = DockerQuery.text(call, "fromImage");
    if (image.isPresent()) {
      return pull(call, DockerImages.reference(image.get(), DockerQuery.text(call, "tag")));
    }
    String source =
        DockerQuery.text(call, "fromSrc")
            .orElseThrow(() -> DockerError.badRequest("fromImage or fromSrc is missing"));
    if (!source.equals("-")) {
      throw DockerError.unsupportedField(
          "fromSrc", "archives are not downloaded; send the archive as the body");
    }
    return importRoot(call);
  }

  private ApiResponse pull(ApiRequest call, ImageRef image) {
    var request =
        new PullRequest(
            image,
            PullPolicy.ALWAYS,
            DockerQuery.text(call, "platform").map(Platform::parse),
            RegistryHeader.of(call));
    return JsonProgress.of(
        call.id(),
        progress -> {
          Optional<Digest> before =
              runtime.images().find(image).map(details -> details.info().digest());
          ImageInfo pulled = pulled(request, progress, image);
          runtime.images().find(image).ifPresent(details -> events.image("pull", details, image));
          progress.status("Digest: " + pulled.digest());
          boolean same = before.filter(pulled.digest()::equals).isPresent();
          progress.status(
              (same ? "Status: Image is up to date for " : "Status: Downloaded newer image for ")
                  + image.familiar());
        });
  }

  /** Scripts tell an image that is absent from a registry that fails by these words. */
  private ImageInfo pulled(PullRequest request, JsonProgress progress, ImageRef image)
      throws InterruptedException {
    String from = image.path();
    try {
      return runtime.images().pull(request, event -> progress.pull(event, from, image.selector()));
    } catch (AgentException.PullFailed e) {
      if (e.getCause() instanceof RegistryException failure) {
        switch (failure.problem()) {
          case ABSENT ->
              throw DockerError.notFound(
                  "manifest for %s not found: manifest unknown: %s"
                      .formatted(image.familiar(), failure.getMessage()));
          case DENIED ->
              throw DockerError.notFound(
                  ("pull access denied for %s, repository does not exist or may require 'docker"
                          + " login': denied: %s")
                      .formatted(ImageWire.bare(image), failure.getMessage()));
          default -> throw e;
        }
      }
      throw e;
    }
  }

  /** The body is read before the answer begins: nobody can watch for a disconnect meanwhile. */
  private ApiResponse importRoot(ApiRequest call) throws InterruptedException {
    Optional<ImageRef> as = name(call);
    ImageInfo made =
        store
            .images()
            .importRoot(call.body(), as, changes(call), DockerQuery.text(call, "message"));
    ImageDetails details = details(made);
    events.image("import", details, as.orElse(placeholder(made)));
    return JsonProgress.of(call.id(), progress -> progress.status(details.config().toString()));
  }

  private static Optional<ImageRef> name(ApiRequest call) {
    return DockerQuery.text(call, "repo")
        .map(repo -> DockerImages.reference(repo, DockerQuery.text(call, "tag")));
  }

  private static List<ConfigChange> changes(ApiRequest call) {
    return call.queries("changes").stream()
        .flatMap(text -> text.lines())
        .filter(line -> !line.isBlank())
        .map(ConfigChange::parse)
        .toList();
  }

  private ImageDetails details(ImageInfo info) {
    return index
        .of(info)
        .orElseThrow(() -> DockerError.noSuchImage(info.digest().toString()))
        .details();
  }

  private static ImageRef placeholder(ImageInfo info) {
    return DockerImageIndex.dangling(info.digest());
  }

  private ApiResponse push(ApiRequest call) {
    ImageRef image = DockerImages.reference(call.path("name"), DockerQuery.text(call, "tag"));
    var request = new PushRequest(image, RegistryHeader.of(call));
    return JsonProgress.of(
        call.id(),
        progress -> {
          progress.status(
              "The push refers to repository [%s/%s]".formatted(image.host(), image.path()));
          if (runtime.images().find(image).isEmpty()) {
            throw DockerError.notFound(
                "An image does not exist locally with the tag: " + ImageWire.bare(image));
          }
          PushResult result =
              store.images().push(request, event -> progress.push(event, image.host()));
          runtime.images().find(image).ifPresent(details -> events.image("push", details, image));
          String tag = image.selector();
          progress.status("%s: digest: %s size: %d".formatted(tag, result.digest(), result.size()));
          progress.aux(
              Json.object()
                  .put("Tag", tag)
                  .put("Digest", result.digest())
                  .put("Size", result.size())
                  .build());
        });
  }

  private ApiResponse saveOne(ApiRequest call) {
    return save(List.of(call.path("name")));
  }

  private ApiResponse saveMany(ApiRequest call) {
    var names = new ArrayList<String>();
    for (String value : call.queries("names")) {
      names.addAll(List.of(value.split(",", -1)));
    }
    return save(names);
  }

  private ApiResponse save(List<String> names) {
    List<DockerImageIndex.Found> found = names.stream().map(index::require).toList();
    List<ImageRef> references = found.stream().map(DockerImageIndex.Found::reference).toList();
    references.forEach(store.images()::requireWhole);
    found.forEach(one -> events.image("save", one.details(), one.reference()));
    return new ApiResponse.Bytes(
        ApiRequest.TAR, Map.of(), out -> store.images().save(references, out));
  }

  private ApiResponse load(ApiRequest call) throws InterruptedException {
    List<ImageInfo> loaded;
    try {
      loaded = store.images().load(call.body());
    } catch (AgentException.InvalidSpec e) {
      String reason = String.valueOf(e.getMessage());
      return JsonProgress.of(call.id(), progress -> progress.error(reason));
    }
    return JsonProgress.of(
        call.id(),
        progress -> {
          for (ImageInfo info : loaded) {
            ImageDetails details = details(info);
            List<String> tags = ImageWire.tags(info);
            events.image(
                "load",
                details,
                info.references().isEmpty() ? placeholder(info) : info.references().getFirst());
            for (String tag : tags) {
              progress.stream("Loaded image: " + tag + "\n");
            }
            if (tags.isEmpty()) {
              progress.stream("Loaded image ID: " + details.config() + "\n");
            }
          }
        });
  }

  private ApiResponse commit(ApiRequest call) {
    Json body = RequestFields.body("POST /commit", call);
    Container container = containers.enter(call.required("container"));
    Optional<ImageRef> as = name(call);
    var changes = new ArrayList<>(ranWith(container.spec()));
    changes.addAll(configured(body));
    changes.addAll(changes(call));
    var commit =
        new NewImage.Commit(
            DockerQuery.text(call, "author"), DockerQuery.text(call, "comment"), changes);
    if (!(container instanceof Exportable files)) {
      throw DockerError.notImplemented(
          "commit: the runtime of container %s cannot export its changes"
              .formatted(container.id()));
    }
    Digest base =
        container
            .inspect()
            .imageDigest()
            .orElseThrow(
                () -> DockerError.failed("commit: the image of the container is not known"));
    boolean pause =
        DockerQuery.flag(call, "pause", true)
            && container.status() instanceof ContainerStatus.Running
            && container instanceof Pausable;
    return new ApiResponse.Later(
        () -> {
          WhilePaused.Work<ImageInfo> work =
              () -> store.images().commit(base, files::exportChanges, commit, as);
          ImageInfo made = pause ? WhilePaused.run((Pausable) container, work) : work.run();
          ImageDetails details = details(made);
          recent.record(
              container,
              "commit",
              Map.of(
                  "comment", DockerQuery.text(call, "comment").orElse(""),
                  "imageID", details.config().toString(),
                  "imageRef", as.map(ImageRef::familiar).orElse("")));
          return ApiResponse.json(201, Json.object().put("Id", details.config()).build());
        });
  }

  /** A configuration in the words of a Dockerfile. */
  private static List<ConfigChange> configured(Json body) {
    var changes = new ArrayList<ConfigChange>();
    body.at("Labels").stringMap().forEach((name, value) -> changes.add(pair("LABEL", name, value)));
    DockerCreate.env(body.at("Env").strings())
        .forEach((name, value) -> changes.add(pair("ENV", name, value)));
    for (String list : List.of("Entrypoint", "Cmd")) {
      if (!body.at(list).strings().isEmpty()) {
        changes.add(words(list.toUpperCase(Locale.ROOT), body.at(list).strings()));
      }
    }
    body.at("ExposedPorts")
        .members()
        .keySet()
        .forEach(port -> changes.add(ConfigChange.parse("EXPOSE " + port)));
    body.at("Volumes")
        .members()
        .keySet()
        .forEach(path -> changes.add(words("VOLUME", List.of(path))));
    Map.of("WORKDIR", "WorkingDir", "USER", "User", "STOPSIGNAL", "StopSignal")
        .forEach(
            (instruction, name) ->
                body.at(name)
                    .string()
                    .filter(text -> !text.isEmpty())
                    .ifPresent(text -> changes.add(new ConfigChange(instruction, text))));
    return changes;
  }

  /** How a container was run, for an image that is made of it. */
  private static List<ConfigChange> ranWith(ContainerSpec spec) {
    var changes = new ArrayList<ConfigChange>();
    ProcessSpec process = spec.process();
    process.entrypoint().ifPresent(words -> changes.add(words("ENTRYPOINT", words)));
    process.args().ifPresent(words -> changes.add(words("CMD", words)));
    process.env().forEach((name, value) -> changes.add(pair("ENV", name, value)));
    process.user().ifPresent(user -> changes.add(new ConfigChange("USER", user)));
    process.workdir().ifPresent(path -> changes.add(new ConfigChange("WORKDIR", path)));
    spec.labels()
        .forEach(
            (name, value) -> {
              if (!name.startsWith(DockerCreate.OWN)) {
                changes.add(pair("LABEL", name, value));
              }
            });
    spec.stop()
        .signal()
        .ifPresent(signal -> changes.add(new ConfigChange("STOPSIGNAL", signal.signalName())));
    return changes;
  }

  private static ConfigChange words(String instruction, List<String> words) {
    return new ConfigChange(instruction, JsonText.print(Json.of(words)));
  }

  private static ConfigChange pair(String instruction, String name, String value) {
    String quoted = value.replace("\\", "\\\\").replace("\"", "\\\"");
    return new ConfigChange(instruction, "%s=\"%s\"".formatted(name, quoted));
  }

  private ApiResponse remote(ApiRequest call) throws InterruptedException {
    ImageRef image = DockerImages.reference(call.path("name"), Optional.empty());
    RemoteImage found;
    try {
      found = store.images().remote(image, RegistryHeader.of(call));
    } catch (AgentException.PullFailed e) {
      throw e.getCause() instanceof RegistryException failure && !failure.problem().ofTheWay()
          ? DockerError.notFound(String.valueOf(failure.getMessage()))
          : e;
    }
    return ApiResponse.json(
        Json.object()
            .put(
                "Descriptor",
                Json.object()
                    .put("mediaType", found.mediaType())
                    .put("digest", found.digest())
                    .put("size", found.size())
                    .build())
            .put(
                "Platforms",
                found.platforms().stream()
                    .map(
                        platform ->
                            Json.object()
                                .put("architecture", platform.architecture())
                                .put("os", platform.os())
                                .putIf("variant", platform.variant())
                                .build())
                    .toList())
            .build());
  }
}
