package dev.zlayer.runtime.docker;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.ImageArchives;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.ImageRemoval;
import dev.zlayer.port.Images;
import dev.zlayer.port.PlatformAnswer;
import dev.zlayer.port.PruneFilter;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PullRequest;
import dev.zlayer.port.RegistryAuth;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** The images of an engine. */
final class DockerImageStore implements Images, ImageArchives {
  private final DockerApi api;
  private final Capabilities capabilities;
  private final DockerArchives archives;

  DockerImageStore(DockerApi api, Capabilities capabilities) {
    this.api = api;
    this.capabilities = capabilities;
    this.archives = new DockerArchives(api);
  }

  @Override
  public ImageInfo pull(PullRequest request, Consumer<PullEvent> progress)
      throws InterruptedException {
    request.platform().ifPresent(platform -> requireServed(request.image(), platform));
    Optional<ImageInfo> before = look(request.image()).map(ImageJson::info);
    boolean fits =
        before
            .filter(
                image ->
                    request.platform().isEmpty()
                        || request.platform().get().runs(image.platform().orElseThrow()))
            .isPresent();
    if (request.policy() == PullPolicy.NEVER && before.isEmpty()) {
      throw missing(request.image());
    }
    boolean here = fits && request.policy() == PullPolicy.IF_NOT_PRESENT;
    if (!here && request.policy() != PullPolicy.NEVER) {
      new DockerPull(api, progress).pull(request);
    }
    ImageInfo pulled =
        ImageJson.info(look(request.image()).orElseThrow(() -> missing(request.image())));
    if (here || request.policy() == PullPolicy.NEVER) {
      progress.accept(new PullEvent.Resolved(pulled.digest(), 0, 0));
    }
    pulled.platform().ifPresent(platform -> requireServed(request.image(), platform));
    return pulled;
  }

  /** Throws {@link AgentException.WrongPlatform} unless the engine runs it. */
  private void requireServed(ImageRef image, Platform platform) {
    if (!capabilities.serves(platform)) {
      throw new AgentException.WrongPlatform(
          DockerRuntime.NAME,
          capabilities.platforms().toString(),
          platform.toString(),
          image.familiar());
    }
  }

  @Override
  public PlatformAnswer platformOf(ImageRef image, Optional<RegistryAuth> auth)
      throws InterruptedException {
    try {
      Optional<Platform> here = look(image).flatMap(ImageJson::platform);
      return here.isPresent() ? recognised(List.of(here.get())) : ask(image, auth);
    } catch (AgentException e) {
      return new PlatformAnswer.Failing(String.valueOf(e.getMessage()));
    }
  }

  private PlatformAnswer ask(ImageRef image, Optional<RegistryAuth> auth)
      throws InterruptedException {
    HttpRequest request = HttpRequest.get("/distribution/" + image.canonical() + "/json");
    if (auth.isPresent()) {
      request = request.with("X-Registry-Auth", DockerPull.auth(image, auth.get()));
    }
    DockerApi.Answer answer = api.send(request, api.deadline());
    if (!answer.success()) {
      return new PlatformAnswer.Failing(answer.message());
    }
    List<Platform> platforms = new ArrayList<>();
    for (Json platform : answer.body().at("Platforms").items()) {
      Optional<String> os = platform.at("os").string();
      Optional<String> architecture = platform.at("architecture").string();
      if (os.isPresent() && architecture.isPresent() && !os.get().equals("unknown")) {
        platforms.add(
            new Platform(
                os.get(),
                architecture.get(),
                platform.at("variant").string(),
                platform.at("os.version").string()));
      }
    }
    return platforms.isEmpty()
        ? new PlatformAnswer.Unrecognised("the registry names no platform")
        : recognised(platforms);
  }

  private static PlatformAnswer recognised(List<Platform> platforms) {
    return new PlatformAnswer.Recognised(platforms, Capabilities.ArtifactKind.ROOT_FILE_SYSTEM);
  }

  @Override
  public List<ImageInfo> list() {
    return DockerApi.calmly(
        () -> {
          List<ImageInfo> images = new ArrayList<>();
          for (Json item : api.get("/images/json").required("images").body().items()) {
            String id = item.at("Id").string().orElseThrow();
            DockerApi.Answer image = api.get("/images/" + id + "/json");
            if (image.success()) { // else it was removed meanwhile
              images.add(ImageJson.info(image.body()));
            }
          }
          return images;
        });
  }

  @Override
  public Optional<ImageDetails> find(ImageRef image) {
    return DockerApi.calmly(
        () -> {
          Optional<Json> found = look(image);
          if (found.isEmpty()) {
            return Optional.empty();
          }
          DockerApi.Answer history = api.get("/images/" + image.canonical() + "/history");
          return Optional.of(ImageJson.details(found.get(), history.body()));
        });
  }

  private Optional<Json> look(ImageRef image) throws InterruptedException {
    DockerApi.Answer answer = api.get("/images/" + image.canonical() + "/json");
    return answer.status() == 404
        ? Optional.empty()
        : Optional.of(answer.required("image '" + image + "'").body());
  }

  @Override
  public void tag(ImageRef source, ImageRef target) {
    if (target.digest().isPresent()) {
      throw new AgentException.InvalidSpec("'" + target + "' has a digest: a new name needs a tag");
    }
    String path =
        "/images/%s/tag?repo=%s&tag=%s"
            .formatted(
                source.canonical(),
                DockerApi.encoded(target.name()),
                DockerApi.encoded(target.selector()));
    DockerApi.Answer _ = DockerApi.calmly(() -> api.post(path)).required("image '" + source + "'");
  }

  @Override
  public ImageRemoval remove(ImageRef image, boolean force) {
    return DockerApi.calmly(
        () -> {
          long size = look(image).orElseThrow(() -> missing(image)).at("Size").integer().orElse(0L);
          List<String> users = users(image);
          if (!users.isEmpty() && !force) {
            throw new AgentException.Conflict(
                "image '%s' is used by %s: remove them first or force the removal"
                    .formatted(image, users));
          }
          Json done =
              api.delete("/images/" + image.canonical() + "?force=" + force)
                  .required("image '" + image + "'")
                  .body();
          return removal(done, size);
        });
  }

  private List<String> users(ImageRef image) throws InterruptedException {
    String filter =
        JsonText.print(Json.object().put("ancestor", List.of(image.canonical())).build());
    return api
        .get("/containers/json?all=true&filters=" + DockerApi.encoded(filter))
        .required("containers")
        .body()
        .items()
        .stream()
        .flatMap(container -> container.at("Names").strings().stream().limit(1))
        .map(name -> name.replaceFirst("^/", ""))
        .toList();
  }

  private static ImageRemoval removal(Json done, long size) {
    List<String> untagged = new ArrayList<>();
    List<Digest> deleted = new ArrayList<>();
    for (Json step : done.items()) {
      step.at("Untagged").string().filter(text -> !text.contains("@")).ifPresent(untagged::add);
      step.at("Deleted").string().map(Digest::parse).ifPresent(deleted::add);
    }
    return new ImageRemoval(untagged, deleted, deleted.isEmpty() ? 0 : size);
  }

  @Override
  public ImageRemoval prune(PruneFilter filter) {
    if (filter.olderThan().isPresent()) {
      throw new AgentException.Unsupported(
          "the docker engine does not know when an image was last used");
    }
    Map<String, List<String>> wanted = Map.of("dangling", List.of(Boolean.toString(!filter.all())));
    Json done =
        DockerApi.calmly(
                () ->
                    api.post(
                        "/images/prune?filters="
                            + DockerApi.encoded(JsonText.print(Json.of(wanted)))))
            .required("images")
            .body();
    ImageRemoval removal = removal(done.at("ImagesDeleted"), 0);
    return new ImageRemoval(
        removal.untagged(), removal.deleted(), done.at("SpaceReclaimed").integer().orElse(0L));
  }

  @Override
  public List<ImageInfo> load(InputStream tar) throws InterruptedException {
    List<ImageInfo> loaded = new ArrayList<>();
    for (String name : archives.load(tar)) {
      DockerApi.Answer image = api.get("/images/" + name + "/json");
      loaded.add(ImageJson.info(image.required("image '" + name + "'").body()));
    }
    return loaded;
  }

  @Override
  public void save(List<ImageRef> images, OutputStream tar) throws InterruptedException {
    archives.save(images, tar);
  }

  @Override
  public ImageInfo importRoot(InputStream tar, ImageRef as) throws InterruptedException {
    archives.importRoot(tar, as);
    return ImageJson.info(look(as).orElseThrow(() -> missing(as)));
  }

  private static AgentException missing(ImageRef image) {
    return new AgentException.NotFound(
        "image '" + image + "'", "the docker engine does not have it: pull it first");
  }
}
