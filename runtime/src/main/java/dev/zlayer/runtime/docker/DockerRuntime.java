package dev.zlayer.runtime.docker;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpClient;
import dev.zlayer.json.Json;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Archivable;
import dev.zlayer.port.Attachable;
import dev.zlayer.port.Capabilities;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.Images;
import dev.zlayer.port.Pausable;
import dev.zlayer.port.ProcessListing;
import dev.zlayer.port.Renamable;
import dev.zlayer.port.Updatable;
import dev.zlayer.task.LazyLogger;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Runs containers through a Docker Engine, as {@link ContainerRuntime} tells. */
public final class DockerRuntime implements ContainerRuntime, AutoCloseable {
  static final String NAME = "docker";
  private static final System.Logger LOG = LazyLogger.of(DockerRuntime.class);

  private final DockerApi api;
  private final String agent;
  private final Capabilities capabilities;
  private final DockerImageStore images;
  private final Map<String, DockerContainerState> states = new ConcurrentHashMap<>();

  private DockerRuntime(DockerApi api, String agent, Platform platform) {
    this.api = api;
    this.agent = agent;
    this.capabilities =
        new Capabilities(
            Set.of(platform),
            Set.of(Capabilities.ArtifactKind.ROOT_FILE_SYSTEM),
            Set.of(
                Archivable.class,
                Attachable.class,
                Pausable.class,
                ProcessListing.class,
                Renamable.class,
                Updatable.class));
    this.images = new DockerImageStore(api, capabilities);
  }

  /**
   * Asks the engine what it is; it serves images of its own system, be that linux or windows.
   *
   * @throws AgentException.Network nobody answers
   * @throws AgentException.Configuration it speaks no version of its API that we do
   */
  public static DockerRuntime open(DockerSettings settings) throws InterruptedException {
    DockerApi api = DockerApi.of(HttpClient.open(settings.address()), settings.requestLimit());
    try {
      Json version = api.get("/version").required("engine at " + settings.address()).body();
      Platform platform =
          Platform.of(
              version.at("Os").string().orElse("linux"),
              version.at("Arch").string().orElse("amd64"));
      return new DockerRuntime(api.in(ApiVersion.choose(version)), settings.agent(), platform);
    } catch (AgentException | InterruptedException e) {
      api.close();
      throw e;
    }
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Capabilities capabilities() {
    return capabilities;
  }

  @Override
  public Images images() {
    return images;
  }

  @Override
  public Container create(ContainerId id, ContainerSpec spec) throws InterruptedException {
    requireServed(spec);
    if (spec.network().mode() instanceof NetworkSpec.Mode.Bridge(Optional<String> network)
        && network.isPresent()) {
      ensureNetwork(network.get());
    }
    Json body = new CreateBody(this::dockerId).of(spec, DockerLabels.of(agent, id, spec));
    DockerApi.Answer answer =
        api.post("/containers/create?name=" + agent + "-" + id.runtimeName(), body);
    if (!answer.success()) {
      throw switch (answer.status()) {
        case 400, 404, 409 -> answer.refusal("container '" + id + "'");
        default -> new AgentException.CreateFailed(id.toString(), answer.message());
      };
    }
    String dockerId = answer.body().at("Id").string().orElseThrow();
    List<String> warnings = answer.body().at("Warnings").strings();
    Container container =
        new DockerContainer(api, dockerId, id, spec, Optional.empty(), state(dockerId, false));
    if (!LimitsSection.discarded(warnings, spec.resources()).isEmpty()) {
      container.remove(true);
      throw new AgentException.Unsupported(
          "container '%s': %s".formatted(id, String.join("; ", warnings)));
    }
    warnings.forEach(text -> LOG.log(System.Logger.Level.WARNING, "container " + id + ": " + text));
    return container;
  }

  private void requireServed(ContainerSpec spec) {
    ImageInfo image =
        images
            .find(spec.image())
            .orElseThrow(
                () ->
                    new AgentException.NotFound(
                        "image '" + spec.image() + "'", "pull it before making a container of it"))
            .info();
    Platform built = image.platform().orElse(capabilities.platforms().iterator().next());
    boolean wanted = spec.platform().map(platform -> platform.runs(built)).orElse(true);
    if (!wanted || !capabilities.serves(built)) {
      throw new AgentException.WrongPlatform(
          NAME,
          spec.platform().map(Platform::toString).orElse(capabilities.platforms().toString()),
          built.toString(),
          spec.image().toString());
    }
  }

  /** A named network is made when it is first needed, and stays. */
  private void ensureNetwork(String name) throws InterruptedException {
    if (api.get("/networks/" + DockerApi.encoded(name)).status() == 404) {
      Json body =
          Json.object()
              .put("Name", name)
              .put("CheckDuplicate", true)
              .put("Driver", "bridge")
              .put("Labels", Map.of("com.zlayer.agent", agent))
              .build();
      DockerApi.Answer answer = api.post("/networks/create", body);
      if (answer.status() != 409) { // else somebody was faster
        DockerApi.Answer _ = answer.required("network '" + name + "'");
      }
    }
  }

  private String dockerId(ContainerId id) {
    return find(id)
        .map(container -> ((DockerContainer) container).dockerId())
        .orElseThrow(
            () ->
                new AgentException.NotFound(
                    "container '" + id + "'", "its namespace cannot be shared"));
  }

  @Override
  public Optional<Container> find(ContainerId id) {
    return handles(DockerLabels.filter(agent, id)).stream().findFirst();
  }

  @Override
  public List<Container> list() {
    Set<String> gone = new HashSet<>(states.keySet());
    List<Container> all = handles(DockerLabels.filter(agent));
    all.forEach(container -> gone.remove(((DockerContainer) container).dockerId()));
    states.keySet().removeAll(gone);
    return all;
  }

  private List<Container> handles(String filter) {
    Json found =
        DockerApi.calmly(() -> api.get("/containers/json?all=true&filters=" + filter))
            .required("containers")
            .body();
    List<Container> handles = new ArrayList<>();
    for (Json item : found.items()) {
      Map<String, String> labels = item.at("Labels").stringMap();
      String dockerId = item.at("Id").string().orElseThrow();
      boolean ran = !item.at("State").string().orElse("").equals("created");
      if (!item.at("State").string().orElse("").equals("removing")) {
        handles.add(
            new DockerContainer(
                api,
                dockerId,
                DockerLabels.id(labels),
                DockerLabels.spec(labels, dockerId, item.at("Image").string().orElse("unknown")),
                item.at("Names").items().stream()
                    .flatMap(name -> name.string().stream())
                    .map(name -> name.replaceFirst("^/", ""))
                    .findFirst(),
                state(dockerId, ran)));
      }
    }
    return List.copyOf(handles);
  }

  private DockerContainerState state(String dockerId, boolean ran) {
    return states.computeIfAbsent(dockerId, _ -> new DockerContainerState(ran));
  }

  /** Leaves the containers to the engine. */
  @Override
  public void close() {
    api.close();
  }
}
