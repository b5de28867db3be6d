package dev.zlayer.daemon.docker;

import dev.zlayer.daemon.ResourceEvents;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.engine.volume.VolumeInfo;
import dev.zlayer.engine.volume.VolumeStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Named volumes, with the labels that they were created with. */
final class DockerVolumes implements Resource {
  private static final Set<String> FILTERS =
      Set.of("dangling", "driver", "label", "label!", "name");
  private static final Set<String> PRUNE_FILTERS = Set.of("label", "label!", "all");

  /** Marks a volume that nobody named. */
  private static final String ANONYMOUS = "com.docker.volume.anonymous";

  private static final String METADATA = "docker.volume";

  private final VolumeStore volumes;
  private final DockerContainerIndex containers;
  private final StateStore store;
  private final ResourceEvents events;
  private final SecureRandom random = new SecureRandom();

  DockerVolumes(
      VolumeStore volumes,
      DockerContainerIndex containers,
      StateStore store,
      ResourceEvents events) {
    this.volumes = volumes;
    this.containers = containers;
    this.store = store;
    this.events = events;
  }

  @Override
  public String title() {
    return "Volumes";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.get("/volumes", "List volumes.", this::list),
        Route.post("/volumes/create", "Create a volume; no effect if it exists.", this::create),
        Route.get("/volumes/{name}", "Show a volume.", this::inspect),
        Route.put(
            "/volumes/{name}",
            "Refused: only cluster volumes can be updated.",
            DockerVolumes::update),
        Route.post("/volumes/prune", "Remove unused volumes.", this::prune).freeing(),
        Route.delete("/volumes/{name}", "Remove a volume that no container mounts.", this::remove)
            .freeing());
  }

  private ApiResponse list(ApiRequest call) {
    DockerFilters filters = DockerQuery.filters(call, FILTERS);
    Optional<Boolean> dangling = filters.flag("dangling");
    List<Json> found =
        volumes.list().stream()
            .filter(volume -> filters.any("name", volume.name()::contains))
            .filter(volume -> filters.any("driver", volume.driver()::equals))
            .filter(volume -> filters.labels(labels(volume)))
            .filter(volume -> dangling.map(wanted -> wanted != volume.inUse()).orElse(true))
            .map(this::wire)
            .toList();
    return ApiResponse.json(
        Json.object().put("Volumes", found).put("Warnings", Json.Null.INSTANCE).build());
  }

  Json wire(VolumeInfo volume) {
    return Json.object()
        .put("CreatedAt", volume.createdAt())
        .put("Driver", volume.driver())
        .put("Labels", labels(volume).isEmpty() ? Json.Null.INSTANCE : Json.of(labels(volume)))
        .put("Mountpoint", mountpoint(volume.path()))
        .put("Name", volume.name())
        .put("Options", Json.Null.INSTANCE)
        .put("Scope", "local")
        .build();
  }

  /** Its directory; clients expect the name to be followed by a slash. */
  static String mountpoint(Path directory) {
    return directory + "/";
  }

  /** Those of an earlier volume of that name do not count. */
  private Map<String, String> labels(VolumeInfo volume) {
    return store
        .find(METADATA, volume.name())
        .map(JsonText::parse)
        .filter(
            json -> json.at("created").string().equals(Optional.of(volume.createdAt().toString())))
        .map(json -> json.at("labels").stringMap())
        .orElse(Map.of());
  }

  private ApiResponse create(ApiRequest call) {
    Json body = RequestFields.body("POST /volumes/create", call);
    String driver = body.at("Driver").string().filter(text -> !text.isEmpty()).orElse("local");
    if (!driver.equals(VolumeInfo.LOCAL)) {
      throw DockerError.notFound(
          "create %1$s: error looking up volume plugin %2$s: plugin \"%2$s\" not found"
              .formatted(body.at("Name").string().orElse(""), driver));
    }
    Optional<String> given = body.at("Name").string().filter(text -> !text.isEmpty());
    given.ifPresent(DockerVolumes::requireName);
    Map<String, String> labels = new java.util.TreeMap<>(body.at("Labels").stringMap());
    if (given.isEmpty()) {
      labels.put(ANONYMOUS, "");
    }
    String name = given.orElseGet(() -> DockerContainerIndex.newId(random));
    boolean known = volumes.list().stream().anyMatch(volume -> volume.name().equals(name));
    VolumeInfo volume = volumes.create(name);
    if (!known) {
      byte[] metadata =
          JsonText.bytes(
              Json.object()
                  .put("created", volume.createdAt().toString())
                  .put("labels", labels)
                  .build());
      store.commit(Change.of(new Change.Put(METADATA, name, metadata)));
      events.record("volume", "create", name, Map.of("driver", driver));
    }
    return ApiResponse.json(201, wire(volume));
  }

  private static void requireName(String name) {
    if (!name.matches("[a-zA-Z0-9][a-zA-Z0-9_.-]*")) {
      throw DockerError.badRequest(
          ("create %1$s: \"%1$s\" includes invalid characters for a local volume name, only"
                  + " \"[a-zA-Z0-9][a-zA-Z0-9_.-]\" are allowed. If you intended to pass a host"
                  + " directory, use absolute path")
              .formatted(name));
    }
  }

  private VolumeInfo require(String name) {
    return volumes.list().stream()
        .filter(volume -> volume.name().equals(name))
        .findFirst()
        .orElseThrow(() -> DockerError.notFound("get %s: no such volume".formatted(name)));
  }

  private ApiResponse inspect(ApiRequest call) {
    return ApiResponse.json(wire(require(call.path("name"))));
  }

  private static ApiResponse update(ApiRequest call) {
    throw DockerError.unavailable(
        "This node is not a swarm manager. Volumes of this node cannot be updated.");
  }

  private ApiResponse remove(ApiRequest call) throws InterruptedException {
    String name = call.path("name");
    if (volumes.list().stream().noneMatch(volume -> volume.name().equals(name))) {
      if (DockerQuery.flag(call, "force")) {
        return ApiResponse.done();
      }
      throw DockerError.notFound("get %s: no such volume".formatted(name));
    }
    VolumeInfo volume = require(name);
    if (volume.inUse()) {
      throw DockerError.conflict(
          "remove %s: volume is in use - [%s]".formatted(name, String.join(", ", users(volume))));
    }
    erase(volume);
    return ApiResponse.done();
  }

  /** The ids of the containers that mount it. */
  private List<String> users(VolumeInfo volume) {
    return containers.list().stream()
        .filter(container -> volume.usedBy().contains(container.id().toString()))
        .map(DockerContainerIndex::id)
        .toList();
  }

  private void erase(VolumeInfo volume) throws InterruptedException {
    try {
      volumes.remove(volume.name());
    } catch (AgentException.InvalidSpec | AgentException.Conflict e) {
      throw DockerError.conflict(
          "remove %s: volume is in use - %s".formatted(volume.name(), e.getMessage()));
    }
    store.commit(Change.of(new Change.Delete(METADATA, volume.name())));
    events.record("volume", "destroy", volume.name(), Map.of("driver", volume.driver()));
  }

  private ApiResponse prune(ApiRequest call) throws InterruptedException {
    DockerFilters filters = DockerQuery.filters(call, PRUNE_FILTERS);
    boolean named = filters.flag("all").orElse(false);
    var deleted = new ArrayList<String>();
    long reclaimed = 0;
    for (VolumeInfo volume : volumes.listWithSizes()) {
      Map<String, String> labels = labels(volume);
      if ((named || labels.containsKey(ANONYMOUS))
          && filters.labels(labels)
          && volumes.prunable(volume)) {
        try {
          erase(volume);
          deleted.add(volume.name());
          reclaimed += volume.size().map(VolumeInfo.Size::bytes).orElse(0L);
        } catch (DockerError | AgentException.NotFound _) {
          // used or removed meanwhile
        }
      }
    }
    events.record("volume", "prune", "", Map.of("reclaimed", String.valueOf(reclaimed)));
    return ApiResponse.json(
        Json.object().put("VolumesDeleted", deleted).put("SpaceReclaimed", reclaimed).build());
  }
}
