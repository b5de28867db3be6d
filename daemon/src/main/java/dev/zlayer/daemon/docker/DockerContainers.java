package dev.zlayer.daemon.docker;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.Resources;
import dev.zlayer.container.Signal;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.daemon.standalone.StandaloneContainers;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.port.ImageDetails;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** Making, finding, changing and removing containers. */
final class DockerContainers implements Resource {
  private final DockerContainerIndex index;
  private final DockerImageIndex images;
  private final StandaloneContainers standalone;
  private final DockerCreate creation;
  private final ContainerSummary summary;
  private final ContainerJson json;
  private final ExecRegistry execs;
  private final OwnedContainers owned;
  private final RecentEvents events;
  private final InstantSource clock;

  DockerContainers(
      DockerContainerIndex index,
      DockerImageIndex images,
      StandaloneContainers standalone,
      DockerCreate creation,
      ContainerSummary summary,
      ContainerJson json,
      ExecRegistry execs,
      OwnedContainers owned,
      RecentEvents events,
      InstantSource clock) {
    this.index = index;
    this.images = images;
    this.standalone = standalone;
    this.creation = creation;
    this.summary = summary;
    this.json = json;
    this.execs = execs;
    this.owned = owned;
    this.events = events;
    this.clock = clock;
  }

  @Override
  public String title() {
    return "Containers";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.post("/containers/create", "Make a container.", this::create),
        Route.get("/containers/json", "List containers.", this::list),
        Route.get("/containers/{name*}/json", "Show all that is known of one.", this::inspect),
        Route.post("/containers/{name}/rename", "Give it another name.", this::rename),
        Route.post("/containers/{name}/update", "Change its limits.", this::update),
        Route.delete("/containers/{name}", "Remove it.", this::remove).freeing(),
        Route.post("/containers/prune", "Remove all that have ended.", this::prune).freeing());
  }

  private ApiResponse create(ApiRequest call) throws InterruptedException {
    Container made =
        creation.create(
            DockerQuery.text(call, "name"),
            DockerQuery.text(call, "platform"),
            DockerQuery.body(call));
    return ApiResponse.json(
        201,
        Json.object().put("Id", DockerContainerIndex.id(made)).put("Warnings", List.of()).build());
  }

  private ContainerFacts facts(Container container) {
    return ContainerFacts.of(container, images, standalone);
  }

  private ApiResponse list(ApiRequest call) {
    var filters =
        new ContainerFilters(
            DockerQuery.text(call, "filters"),
            images,
            summary,
            reference -> facts(index.find(reference)));
    int limit = DockerQuery.number(call, "limit").orElse(0);
    boolean all = DockerQuery.flag(call, "all") || filters.all() || limit > 0;
    boolean sizes = DockerQuery.flag(call, "size");
    Instant now = clock.instant();
    var lines = new ArrayList<String>();
    // most containers share few images
    var found = new HashMap<ImageRef, Optional<ImageDetails>>();
    for (Listed one : newestFirst(all)) {
      if (limit > 0 && lines.size() >= limit) {
        break;
      }
      try {
        Container container = one.container();
        Optional<ImageDetails> image =
            found.computeIfAbsent(
                one.details().spec().image(), _ -> ContainerFacts.image(one.details(), images));
        ContainerFacts facts = ContainerFacts.of(container, one.details(), image, standalone);
        if (filters.shows(facts)) {
          lines.add(sizes ? sized(container, facts, now) : summary.line(facts, now));
        }
      } catch (AgentException.NotFound _) {
        // removed meanwhile
      }
    }
    return ApiResponse.text(ApiRequest.JSON, "[" + String.join(",", lines) + "]");
  }

  private String sized(Container container, ContainerFacts facts, Instant now) {
    return JsonText.print(summary.of(facts, now, Optional.of(ContainerSizes.of(container, facts))));
  }

  private record Listed(Container container, ContainerDetails details) {}

  private List<Listed> newestFirst(boolean all) {
    var listed = new ArrayList<Listed>();
    List<Container> present = index.list();
    summary.keep(present.stream().map(Container::id).collect(Collectors.toSet()));
    for (Container container : present) {
      try {
        if (all || container.status().alive()) {
          listed.add(new Listed(container, container.inspect()));
        }
      } catch (AgentException.NotFound _) {
        // removed meanwhile
      }
    }
    listed.sort(Comparator.comparing((Listed one) -> one.details().createdAt()).reversed());
    return listed;
  }

  private ApiResponse inspect(ApiRequest call) {
    Container container = index.find(call.path("name"));
    try {
      ContainerFacts facts = facts(container);
      return ApiResponse.json(
          json.of(
              facts,
              execs.running(container.id()),
              DockerQuery.flag(call, "size")
                  ? Optional.of(ContainerSizes.of(container, facts))
                  : Optional.empty()));
    } catch (AgentException.NotFound _) {
      throw DockerError.noSuchContainer(call.path("name"));
    }
  }

  private ApiResponse rename(ApiRequest call) throws InterruptedException {
    Container container = index.find(call.path("name"));
    owned.require(container, "up");
    String name =
        DockerQuery.text(call, "name")
            .map(text -> text.startsWith("/") ? text.substring(1) : text)
            .filter(text -> !text.isEmpty())
            .orElseThrow(() -> DockerError.badRequest("Neither old nor new names may be empty"));
    if (name.equals(ContainerNames.of(container))) {
      throw DockerError.badRequest("Renaming a container with the same name as its current name");
    }
    creation.requireFree(name);
    standalone.rename(container, name);
    return ApiResponse.done();
  }

  private ApiResponse update(ApiRequest call) throws InterruptedException {
    Container container = index.find(call.path("name"));
    owned.require(container, "up");
    Json.Obj body = CreateFields.checkedHost(DockerQuery.body(call));
    Resources before = container.spec().resources();
    Resources limits = HostOptions.resources(body, before);
    var policy =
        body.at("RestartPolicy").at("Name").string().filter(name -> !name.isEmpty()).isPresent()
            ? Optional.of(HostOptions.restartOrNone(body))
            : Optional.<dev.zlayer.spec.service.RestartPolicySpec>empty();
    List<String> warnings =
        standalone.update(
            container, limits.equals(before) ? Optional.empty() : Optional.of(limits), policy);
    return ApiResponse.json(Json.object().put("Warnings", warnings).build());
  }

  private ApiResponse remove(ApiRequest call) throws InterruptedException {
    Container container = index.find(call.path("name"));
    boolean force = DockerQuery.flag(call, "force");
    if (container.status().alive()) {
      owned.require(container, "down");
      if (!force) {
        String state = container.status() instanceof ContainerStatus.Paused ? "paused" : "running";
        throw DockerError.conflict(
            ("cannot remove container \"%s\": container is %s: stop the container before removing"
                    + " or force remove")
                .formatted(ContainerNames.of(container), state));
      }
      events.record(container, "kill", Map.of("signal", String.valueOf(Signal.KILL.number())));
    }
    if (!force && restarting(container)) {
      throw DockerError.conflict(
          ("cannot remove container \"%s\": container is restarting: stop the container before"
                  + " removing or force remove")
              .formatted(ContainerNames.of(container)));
    }
    standalone.remove(container, force);
    return ApiResponse.done();
  }

  /** One that is always started again is never over unless somebody stops it. */
  private boolean restarting(Container container) {
    if (!standalone.unattended(container)) {
      return false;
    }
    ContainerFacts facts = facts(container);
    return facts.startedAt().isPresent()
        && Set.of("always", "unless_stopped")
            .contains(facts.rules().getOrDefault("com.zlayer.restart", "no"));
  }

  private ApiResponse prune(ApiRequest call) throws InterruptedException {
    DockerFilters filters = DockerQuery.filters(call, Set.of("label", "label!", "until"));
    Optional<Instant> until = filters.get("until").stream().findFirst().map(this::until);
    var removed = new ArrayList<String>();
    long freed = 0;
    for (Container container : index.list()) {
      try {
        ContainerStatus status = container.status();
        boolean over =
            status instanceof ContainerStatus.Exited || status instanceof ContainerStatus.Created;
        if (!over || !StandaloneContainers.standalone(container.id())) {
          continue;
        }
        ContainerFacts facts = facts(container);
        boolean old = until.map(facts.details().createdAt()::isBefore).orElse(true);
        if (old && filters.labels(facts.labels())) {
          long size = ContainerSizes.of(container, facts).changed();
          standalone.remove(container, false);
          removed.add(facts.id());
          freed += size;
        }
      } catch (AgentException.NotFound | AgentException.Conflict _) {
        // removed or started meanwhile
      }
    }
    events.record("container", "prune", "", Map.of("reclaimed", String.valueOf(freed)));
    return ApiResponse.json(
        Json.object()
            .put("ContainersDeleted", removed.isEmpty() ? null : removed)
            .put("SpaceReclaimed", freed)
            .build());
  }

  /** A time, or how long ago. */
  private Instant until(String text) {
    try {
      return text.contains("T")
          ? Instant.parse(text)
          : text.matches("[0-9]{9,12}")
              ? Instant.ofEpochSecond(Long.parseLong(text))
              : clock.instant().minus(Durations.parse(text));
    } catch (java.time.format.DateTimeParseException _) {
      throw DockerError.badRequest("invalid filter 'until=%s'".formatted(text));
    }
  }
}
