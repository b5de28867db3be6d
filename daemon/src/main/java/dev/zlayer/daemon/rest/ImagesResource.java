package dev.zlayer.daemon.rest;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.daemon.ResourceEvents;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.view.ImageView;
import dev.zlayer.daemon.standalone.WhilePaused;
import dev.zlayer.error.AgentException;
import dev.zlayer.image.ImageStore;
import dev.zlayer.image.archive.ConfigChange;
import dev.zlayer.image.archive.NewImage;
import dev.zlayer.image.store.Fsck;
import dev.zlayer.image.store.StoreFinding;
import dev.zlayer.json.Json;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.Exportable;
import dev.zlayer.port.ImageArchives;
import dev.zlayer.port.ImageDetails;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.ImageRemoval;
import dev.zlayer.port.Images;
import dev.zlayer.port.Pausable;
import dev.zlayer.port.PruneFilter;
import dev.zlayer.port.PullRequest;
import dev.zlayer.port.PushRequest;
import dev.zlayer.port.PushResult;
import dev.zlayer.port.RegistryAuth;
import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Images. */
public final class ImagesResource implements Resource {
  private final ContainerRuntime runtime;
  private final ImageStore store;
  private final ResourceEvents events;

  @Doc("What to pull.")
  public record Pull(
      @Doc("Reference: [host[:port]/]name[:tag][@digest].") ImageRef ref,
      @Doc("When to ask the registry.") @Default("newer") PullPolicy policy,
      @Doc("Which one of several, as os/architecture.") Optional<String> platform,
      @Doc("Credentials instead of the configured ones.") Optional<Auth> auth) {}

  @Doc("What to push, to the registry that its name says.")
  public record Push(
      @Doc("Reference with a tag: [host[:port]/]name[:tag].") ImageRef ref,
      @Doc("Credentials instead of the configured ones.") Optional<Auth> auth) {}

  @Doc("Credentials for the image's registry.")
  public record Auth(
      @Doc("With password.") Optional<String> user,
      @Doc("With user.") Optional<String> password,
      @Doc("An identity token instead.") Optional<String> token) {
    RegistryAuth credentials() {
      if (token.isPresent()) {
        return new RegistryAuth.Token(token.get());
      }
      return new RegistryAuth.Basic(
          user.orElseThrow(() -> new AgentException.InvalidSpec("auth needs a user or a token")),
          password.orElse(""));
    }

    @Override
    public String toString() {
      return "Auth";
    }
  }

  @Doc("Credentials to be checked.")
  public record Login(
      @Doc("Registry: host[:port].") String host, @Doc("The credentials.") Auth auth) {}

  @Doc("A further name for an image.")
  public record Tag(
      @Doc("The image.") ImageRef source, @Doc("Its further name.") ImageRef target) {}

  @Doc("An image from a container: its image and what was changed in it, without volumes.")
  public record Commit(
      @Doc("The container.") String container,
      @Doc("Name of the image.") ImageRef ref,
      @Doc("Who made it.") Optional<String> author,
      @Doc("What was changed.") Optional<String> message,
      @Doc(
              "Dockerfile instructions: CMD, ENTRYPOINT, ENV, EXPOSE, LABEL, STOPSIGNAL, USER,"
                  + " VOLUME, WORKDIR.")
          List<String> changes,
      @Doc("Do not pause the container while its files are read.") @Default("false")
          boolean live) {}

  @Doc("Which unused images go.")
  public record Prune(
      @Doc("Also those that have a name.") @Default("false") boolean all,
      @Doc("Only those last used before that long ago.") Optional<Duration> olderThan) {}

  /** What a check found. */
  record Check(
      int images, int blobs, long bytes, boolean sound, boolean repaired, List<Found> findings) {
    record Found(boolean damage, String text) {
      static Found of(StoreFinding finding) {
        return new Found(finding.damage(), finding.text());
      }
    }

    static Check of(Fsck.Report report, boolean repaired) {
      return new Check(
          report.images(),
          report.blobs(),
          report.bytes(),
          report.clean(),
          repaired && !report.clean(),
          report.findings().stream().map(Found::of).toList());
    }
  }

  public ImagesResource(ContainerRuntime runtime, ImageStore store, ResourceEvents events) {
    this.runtime = runtime;
    this.store = store;
    this.events = events;
  }

  private Images images() {
    return runtime.images();
  }

  private ImageArchives archives() {
    return store.images();
  }

  @Override
  public String title() {
    return "Images";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.view("/images", "List images.", this::list).givesMany(ImageView.class),
        Route.post("/images/pull", "Pull an image.", this::pull)
            .takes(Pull.class)
            .streams(PullLines.Line.class, "Progress, and at last the image as type result."),
        Route.post("/images/push", "Push an image to its registry.", this::push)
            .takes(Push.class)
            .streams(PushLines.Line.class, "Progress, and at last the digest as type result."),
        Route.post("/registries/login", "Check credentials with their registry.", this::login)
            .takes(Login.class)
            .givesNothing(),
        Route.view("/images/inspect", "Show an image with its configuration.", this::inspect)
            .withRequired("ref", "Image reference.")
            .gives(ImageView.Details.class),
        Route.view("/images/history", "Show the history of its layers.", this::history)
            .withRequired("ref", "Image reference.")
            .givesMany(ImageView.Step.class),
        Route.post("/images/tag", "Tag an image.", this::tag).takes(Tag.class).givesNothing(),
        Route.delete("/images", "Remove a tag, and the image with its last tag.", this::remove)
            .freeing()
            .withRequired("ref", "Image reference.")
            .withFlag("force", "Also if containers use it.")
            .gives(ImageRemoval.class),
        Route.post("/images/prune", "Remove unused images.", this::prune)
            .freeing()
            .takes(Prune.class)
            .gives(ImageRemoval.class),
        Route.post("/images/load", "Load images from an archive.", this::load)
            .takes(
                ApiRequest.TAR,
                "Archive as written by docker save or OCI tools, optionally compressed.")
            .givesMany(ImageView.class),
        Route.get("/images/save", "Save images to an archive.", this::save)
            .withRequired("ref", "Image reference; may be repeated.")
            .givesType(ApiRequest.TAR, "For docker load and OCI tools alike."),
        Route.post("/images/import", "Import a root file system as an image.", this::importRoot)
            .withRequired("ref", "Image reference.")
            .with("change", "Dockerfile instruction such as CMD [\"sh\"]; may be repeated.")
            .takes(ApiRequest.TAR, "The root file system.")
            .gives(ImageView.class),
        Route.post("/images/commit", "Create an image from a container's changes.", this::commit)
            .takes(Commit.class)
            .gives(ImageView.class),
        Route.post("/images/check", "Check the image store.", this::check)
            .withFlag("repair", "Repair what is damaged.")
            .gives(Check.class));
  }

  private ApiResponse list(ApiRequest call) {
    return views(images().list());
  }

  private static ApiResponse views(List<ImageInfo> images) {
    return ApiResponse.json(ViewJson.of(images.stream().map(ImageView::of).toList()));
  }

  private ApiResponse pull(ApiRequest call) {
    Pull wanted = call.body(Pull.class);
    var request =
        new PullRequest(
            wanted.ref(),
            wanted.policy(),
            wanted.platform().map(Platform::parse),
            wanted.auth().map(Auth::credentials));
    return new ApiResponse.Lines(
        out -> {
          ImageInfo image = images().pull(request, event -> PullLines.write(event, out));
          record("pull", wanted.ref());
          var line = Json.object().put("type", "result");
          ViewJson.of(ImageView.of(image)).members().forEach(line::put);
          out.line(line.build());
        });
  }

  private ApiResponse push(ApiRequest call) {
    Push wanted = call.body(Push.class);
    var request = new PushRequest(wanted.ref(), wanted.auth().map(Auth::credentials));
    return new ApiResponse.Lines(
        out -> {
          PushResult result = store.images().push(request, event -> PushLines.write(event, out));
          record("push", wanted.ref());
          out.line(
              Json.object()
                  .put("type", "result")
                  .put("digest", result.digest())
                  .put("size", result.size())
                  .build());
        });
  }

  private ApiResponse login(ApiRequest call) throws InterruptedException {
    Login wanted = call.body(Login.class);
    String host = ImageRef.parse(wanted.host() + "/any").host(); // its grammar, and one spelling
    store.images().login(host, wanted.auth().credentials());
    return ApiResponse.done();
  }

  private ApiResponse inspect(ApiRequest call) {
    return ApiResponse.json(ViewJson.of(ImageView.Details.of(details(call))));
  }

  private ApiResponse history(ApiRequest call) {
    return ApiResponse.json(
        ViewJson.of(details(call).history().stream().map(ImageView.Step::of).toList()));
  }

  private ImageDetails details(ApiRequest call) {
    ImageRef image = ref(call);
    return images()
        .find(image)
        .orElseThrow(
            () ->
                new AgentException.NotFound(
                    "image '" + image.familiar() + "'",
                    "'zlayer pull " + image.familiar() + "' fetches it"));
  }

  private static ImageRef ref(ApiRequest call) {
    return ImageRef.parse(call.required("ref"));
  }

  private ApiResponse tag(ApiRequest call) {
    Tag wanted = call.body(Tag.class);
    images().tag(wanted.source(), wanted.target());
    record("tag", wanted.target());
    return ApiResponse.done();
  }

  private ApiResponse remove(ApiRequest call) {
    Optional<ImageDetails> known = images().find(ref(call));
    ImageRemoval removal = images().remove(ref(call), call.flag("force", false));
    known.ifPresent(
        image -> {
          removal.untagged().forEach(name -> events.image("untag", image, ImageRef.parse(name)));
          if (images().list().stream()
              .noneMatch(one -> one.digest().equals(image.info().digest()))) {
            events.image("delete", image, ref(call));
          }
        });
    return ApiResponse.json(ViewJson.of(removal));
  }

  private void record(String action, ImageRef name) {
    images().find(name).ifPresent(image -> events.image(action, image, name));
  }

  private ApiResponse prune(ApiRequest call) {
    Prune wanted = call.body(Prune.class);
    return ApiResponse.json(
        ViewJson.of(images().prune(new PruneFilter(wanted.all(), wanted.olderThan()))));
  }

  private ApiResponse load(ApiRequest call) throws InterruptedException {
    List<ImageInfo> loaded = archives().load(call.body());
    loaded.forEach(image -> image.references().forEach(name -> record("load", name)));
    return views(loaded);
  }

  private ApiResponse save(ApiRequest call) {
    List<ImageRef> wanted = call.queries("ref").stream().map(ImageRef::parse).toList();
    if (wanted.isEmpty()) {
      throw new AgentException.InvalidSpec("the parameter 'ref' is absent");
    }
    for (ImageRef image : wanted) {
      if (images().find(image).isEmpty()) {
        throw new AgentException.NotFound("image '" + image.familiar() + "'", "pull it first");
      }
      store.images().requireWhole(image); // once bytes are on their way, no error can be reported
    }
    return new ApiResponse.Bytes(ApiRequest.TAR, Map.of(), out -> archives().save(wanted, out));
  }

  private ApiResponse importRoot(ApiRequest call) throws InterruptedException {
    ImageInfo made =
        store
            .images()
            .importRoot(
                call.body(),
                ref(call),
                call.queries("change").stream().map(ConfigChange::parse).toList());
    record("import", ref(call));
    return ApiResponse.json(ViewJson.of(ImageView.of(made)));
  }

  private ApiResponse commit(ApiRequest call) throws InterruptedException {
    Commit wanted = call.body(Commit.class);
    var commit =
        new NewImage.Commit(
            wanted.author(),
            wanted.message(),
            wanted.changes().stream().map(ConfigChange::parse).toList());
    Container container = new ContainerLookup(runtime).find(wanted.container());
    Exportable files = OptionalInterfaces.of(container, Exportable.class, "committed");
    Digest base =
        container
            .inspect()
            .imageDigest()
            .orElseThrow(
                () ->
                    new AgentException.Unsupported(
                        "commit: the image of container %s is not known"
                            .formatted(container.id())));
    boolean pause = !wanted.live() && container.status() instanceof ContainerStatus.Running;
    WhilePaused.Work<ImageInfo> work =
        () -> store.images().commit(base, files::exportChanges, commit, Optional.of(wanted.ref()));
    ImageInfo made =
        pause
            ? WhilePaused.run(
                OptionalInterfaces.of(container, Pausable.class, "paused; commit it live"), work)
            : work.run();
    return ApiResponse.json(ViewJson.of(ImageView.of(made)));
  }

  private ApiResponse check(ApiRequest call) throws InterruptedException {
    boolean repair = call.flag("repair", false);
    return ApiResponse.json(ViewJson.of(Check.of(repair ? store.repair() : store.check(), repair)));
  }
}
