package dev.zlayer.daemon.docker;

import dev.zlayer.container.ConnectionSpec;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.container.Resources;
import dev.zlayer.container.Signal;
import dev.zlayer.container.StopSpec;
import dev.zlayer.container.TerminalSize;
import dev.zlayer.daemon.standalone.ContainerHealth;
import dev.zlayer.daemon.standalone.StandaloneContainers;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Platform;
import dev.zlayer.port.Container;
import dev.zlayer.runtime.oci.config.BundleConfig;
import dev.zlayer.task.Threads;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;

/** Makes a container from a request; every field has its effect or is refused by its name. */
final class DockerCreate {
  /** What was asked for and is shown again by inspect; variables are left out, see there. */
  static final String REQUEST = StandaloneContainers.REQUEST;

  /** Begins the labels that are the agent's own. */
  static final String OWN = "com.zlayer.";

  private static final int NAME_ATTEMPTS = 20;
  private static final Set<String> BY_NAME = Set.of("ExposedPorts", "Volumes");

  private final StandaloneContainers standalone;
  private final DockerContainerIndex index;
  private final DockerImageIndex images;
  private final ContainerEndpoints endpoints;
  private final DockerAllow allow;
  private final RandomGenerator random;

  DockerCreate(
      StandaloneContainers standalone,
      DockerContainerIndex index,
      DockerImageIndex images,
      ContainerEndpoints endpoints,
      DockerAllow allow,
      RandomGenerator random) {
    this.standalone = standalone;
    this.index = index;
    this.images = images;
    this.endpoints = endpoints;
    this.allow = allow;
    this.random = random;
  }

  /** Makes it; the image has to be present. */
  Container create(Optional<String> name, Optional<String> platform, Json given)
      throws InterruptedException {
    Json.Obj body = CreateFields.checked(given);
    Optional<String> wanted = name.map(text -> text.startsWith("/") ? text.substring(1) : text);
    wanted.ifPresent(this::requireName);
    String image =
        body.at("Image")
            .string()
            .filter(text -> !text.isEmpty())
            .orElseThrow(() -> DockerError.badRequest("no image specified"));
    DockerImageIndex.Found found = images.require(image);
    String id = DockerContainerIndex.newId(random);
    ContainerSpec spec = linked(body, spec(body, found, id), wanted.orElse(id));
    allow.require(spec);
    index.requireVolumes(spec);
    if (platform.isPresent()) {
      spec = spec.withPlatform(Platform.parse(platform.get()));
    }
    Json host = body.at("HostConfig");
    boolean remove = host.at("AutoRemove").bool().orElse(false);
    if (remove && HostOptions.restart(host).isPresent()) {
      throw DockerError.badRequest("can't create 'AutoRemove' container with restart policy");
    }
    Container made = made(spec, wanted, body, found.details().run().healthcheck());
    try {
      endpoints.join(made, body, id);
      return made;
    } catch (RuntimeException | InterruptedException e) {
      Threads.complete(() -> standalone.remove(made, true));
      throw e;
    }
  }

  /** Of two requests at once that were given the same name, one gets another. */
  private Container made(ContainerSpec spec, Optional<String> wanted, Json.Obj body, Json image)
      throws InterruptedException {
    Json host = body.at("HostConfig");
    boolean remove = host.at("AutoRemove").bool().orElse(false);
    Optional<ContainerHealth> health = DockerHealth.of(DockerHealth.merged(body, image));
    for (int attempt = 1; ; attempt++) {
      var request =
          new StandaloneContainers.CreateRequest(
              Optional.of(wanted.orElseGet(() -> ContainerNames.free(random, index::taken))),
              HostOptions.restart(host),
              remove ? Optional.of(Duration.ZERO) : Optional.empty(),
              Optional.empty(),
              health);
      try {
        return standalone.create(spec, request);
      } catch (AgentException.Conflict e) {
        wanted.ifPresent(this::requireFree);
        if (wanted.isPresent() || attempt == NAME_ATTEMPTS) {
          throw e;
        }
      }
    }
  }

  private void requireName(String name) {
    if (!name.matches("[a-zA-Z0-9][a-zA-Z0-9_.-]+")) {
      throw DockerError.badRequest(
          "Invalid container name (%s), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed"
              .formatted(name));
    }
    requireFree(name);
  }

  /** Scripts look for these words. */
  void requireFree(String name) {
    for (Container other : index.list()) {
      try {
        if (ContainerNames.of(other).equals(name)) {
          throw DockerError.conflict(
              ("Conflict. The container name \"/%s\" is already in use by container \"%s\". You"
                      + " have to remove (or rename) that container to be able to reuse that name.")
                  .formatted(name, DockerContainerIndex.id(other)));
        }
      } catch (AgentException.NotFound _) {
        // removed meanwhile
      }
    }
  }

  private ContainerSpec spec(Json.Obj body, DockerImageIndex.Found image, String id) {
    Json host = body.at("HostConfig");
    var spec =
        ContainerSpec.of(image.reference())
            .withProcess(process(body))
            .withFileSystem(
                new FileSystemSpec(
                    MountOptions.of(body, index, allow),
                    host.at("ReadonlyRootfs").bool().orElse(false)))
            .withNetwork(
                new ConnectOptions(body)
                    .of(
                        id.substring(0, DockerContainerIndex.SHORT),
                        Optional.of(image.details()),
                        index,
                        endpoints::require))
            .withResources(HostOptions.resources(host, Resources.DEFAULT))
            .withSecurity(HostOptions.security(host, index))
            .withLogs(HostOptions.logs(host))
            .withStop(stop(body))
            .withLabels(labels(body, id));
    return DeviceRequests.of(host).map(spec::withGpu).orElse(spec);
  }

  /** With who it links to on the usual network; others have a name server. */
  private ContainerSpec linked(Json.Obj body, ContainerSpec spec, String name) {
    List<ConnectionSpec.Link> asked = ContainerLinks.asked(body);
    boolean usual =
        spec.network().mode() instanceof NetworkSpec.Mode.Bridge(var network) && network.isEmpty();
    if (asked.isEmpty() || !usual) {
      return spec;
    }
    ContainerLinks links = ContainerLinks.of(asked, name, this::linkable, endpoints::address);
    var env = new LinkedHashMap<>(links.variables());
    env.putAll(spec.process().env());
    var hosts = new LinkedHashMap<>(links.hosts());
    hosts.putAll(spec.network().hosts());
    return spec.withProcess(spec.process().withEnv(env))
        .withNetwork(spec.network().withHosts(hosts));
  }

  private ContainerFacts linkable(String reference) {
    Container target =
        index
            .search(reference)
            .orElseThrow(
                () ->
                    DockerError.badRequest(
                        "could not get container for %1$s: No such container: %1$s"
                            .formatted(reference)));
    return ContainerFacts.of(target, images, standalone);
  }

  private static ProcessSpec process(Json.Obj body) {
    Json host = body.at("HostConfig");
    Optional<String> workdir = body.at("WorkingDir").string().filter(text -> !text.isEmpty());
    if (workdir.filter(path -> !path.startsWith("/")).isPresent()) {
      throw DockerError.badRequest(
          "the working directory '%s' is invalid, it needs to be an absolute path"
              .formatted(workdir.get()));
    }
    boolean terminal = body.at("Tty").bool().orElse(false);
    List<Long> size =
        host.at("ConsoleSize").items().stream().flatMap(item -> item.integer().stream()).toList();
    boolean sized = terminal && size.size() == 2 && size.get(0) > 0 && size.get(1) > 0;
    return new ProcessSpec(
        words(body, "Entrypoint"),
        words(body, "Cmd"),
        env(body.at("Env").strings()),
        workdir,
        body.at("User").string().filter(text -> !text.isEmpty()),
        host.at("GroupAdd").strings(),
        terminal,
        body.at("OpenStdin").bool().orElse(false),
        host.at("Init").bool().orElse(false),
        sized
            ? Optional.of(new TerminalSize(size.get(0).intValue(), size.get(1).intValue()))
            : Optional.empty());
  }

  /** A list, or a text for clients of an old kind; an empty one means the image's own. */
  private static Optional<List<String>> words(Json body, String name) {
    Json value = body.at(name);
    List<String> words =
        value.string().filter(text -> !text.isEmpty()).map(List::of).orElse(value.strings());
    if (words.equals(List.of(""))) {
      return Optional.of(List.of()); // so that nothing is taken from the image
    }
    return words.isEmpty() ? Optional.empty() : Optional.of(words);
  }

  static Map<String, String> env(List<String> pairs) {
    var env = new LinkedHashMap<String, String>();
    for (String pair : pairs) {
      int equals = pair.indexOf('=');
      if (equals == 0) {
        throw DockerError.badRequest("invalid environment variable: " + pair);
      }
      if (equals > 0) {
        env.put(pair.substring(0, equals), pair.substring(equals + 1));
      }
    }
    return env;
  }

  private static StopSpec stop(Json body) {
    long timeout = body.at("StopTimeout").integer().orElse(-1L);
    return new StopSpec(
        body.at("StopSignal").string().filter(text -> !text.isEmpty()).map(Signal::parse),
        timeout < 0 ? StopSpec.DEFAULT.grace() : Duration.ofSeconds(timeout));
  }

  private static Map<String, String> annotations(Json.Obj body) {
    Map<String, String> annotations = body.at("HostConfig").at("Annotations").stringMap();
    for (String name : annotations.keySet()) {
      if (name.isEmpty()) {
        throw DockerError.badRequest(
            "invalid Annotations: the empty string is not permitted as a key");
      }
      if (BundleConfig.isRuntimeSetting(name)) {
        throw DockerError.unsupportedField(
            "HostConfig.Annotations", "%s is a setting of the OCI runtime".formatted(name));
      }
    }
    return annotations;
  }

  private static Map<String, String> labels(Json.Obj body, String id) {
    var labels = new HashMap<String, String>();
    body.at("Labels")
        .members()
        .forEach((name, value) -> labels.put(name, value.string().orElse("")));
    for (String name : labels.keySet()) {
      if (name.startsWith(OWN)) {
        throw DockerError.badRequest(
            "label '%s': names that begin with '%s' are the agent's own".formatted(name, OWN));
      }
    }
    annotations(body).forEach((name, value) -> labels.put(BundleConfig.ANNOTATION + name, value));
    labels.put(DockerContainerIndex.ID, id);
    var kept = new LinkedHashMap<>(body.members());
    // values may be secrets, and labels are for all to read
    kept.put(
        "Env",
        Json.of(body.at("Env").strings().stream().filter(pair -> !pair.contains("=")).toList()));
    kept.remove("Labels");
    // the members of these say something by their names alone
    kept.entrySet()
        .removeIf(
            field -> !BY_NAME.contains(field.getKey()) && CreateFields.zero(field.getValue()));
    labels.put(REQUEST, JsonText.print(new Json.Obj(kept)));
    return labels;
  }
}
