package dev.zlayer.daemon.docker;

import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.EventPage;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** What happens, in the words of Docker. */
final class DockerEvents implements Resource {
  private static final int PAGE = 500;
  private static final Duration LONGEST_WAIT = Duration.ofSeconds(30);
  private static final Set<String> FILTERS =
      Set.of(
          "container",
          "event",
          "image",
          "label",
          "label!",
          "type",
          "volume",
          "network",
          "daemon",
          "scope",
          "plugin",
          "node",
          "service",
          "secret",
          "config");
  private static final Set<String> TYPES = Set.of("image", "volume", "network");

  private final StateStore store;
  private final InstantSource clock;

  DockerEvents(StateStore store, InstantSource clock) {
    this.store = store;
    this.clock = clock;
  }

  @Override
  public String title() {
    return "Events";
  }

  @Override
  public List<Route> routes() {
    return List.of(Route.get("/events", "Report what happens.", this::events));
  }

  private ApiResponse events(ApiRequest call) {
    DockerFilters filters = DockerQuery.filters(call, FILTERS);
    Instant now = clock.instant();
    Optional<Instant> since =
        DockerQuery.text(call, "since").map(text -> DockerTimes.before(text, now));
    Optional<Instant> until =
        DockerQuery.text(call, "until").map(text -> DockerTimes.before(text, now));
    if (since.isPresent() && until.isPresent() && until.get().isBefore(since.get())) {
      throw DockerError.badRequest("`since` time cannot be after `until` time");
    }
    return new ApiResponse.Lines(
        ApiRequest.JSON,
        out -> {
          out.flush();
          stream(since, until, filters, out);
        });
  }

  private void stream(
      Optional<Instant> since,
      Optional<Instant> until,
      DockerFilters filters,
      ApiResponse.Lined out)
      throws IOException, InterruptedException {
    // an empty commit returns the number of the last event
    long from = since.isPresent() ? 0 : store.commit(new Change(List.of(), List.of()));
    while (true) {
      EventPage page = store.events(from, PAGE);
      for (EventPage.Numbered numbered : page.events()) {
        Event event = numbered.event();
        boolean early = since.filter(event.at()::isBefore).isPresent();
        boolean late = until.filter(event.at()::isAfter).isPresent();
        Optional<Message> message = early || late ? Optional.empty() : Message.of(event);
        if (message.isPresent() && message.get().matches(filters)) {
          out.line(message.get().json(event.at()));
        }
      }
      from = page.last();
      if (page.events().isEmpty()) {
        Duration left =
            until.map(end -> Duration.between(clock.instant(), end)).orElse(LONGEST_WAIT);
        if (left.isNegative() || left.isZero()) {
          return;
        }
        Duration wait = left.compareTo(LONGEST_WAIT) < 0 ? left : LONGEST_WAIT;
        boolean _ = store.awaitEvent(from, Deadline.after(wait));
      }
    }
  }

  /** One event as clients see it. */
  record Message(String type, String action, String id, Map<String, String> attributes) {
    static Optional<Message> of(Event event) {
      int dot = event.kind().indexOf('.');
      String area = dot < 0 ? event.kind() : event.kind().substring(0, dot);
      String verb = event.kind().substring(dot + 1);
      if (TYPES.contains(area)) {
        Json attributes = event.detail().at("attributes");
        return Optional.of(new Message(area, verb, event.subject(), attributes.stringMap()));
      }
      return area.equals("container") ? container(event, verb) : Optional.empty();
    }

    private static Optional<Message> container(Event event, String verb) {
      Json container = event.detail().at("container");
      Map<String, String> labels = container.at("labels").stringMap();
      Optional<String> id =
          Optional.ofNullable(labels.get(DockerContainerIndex.ID))
              .or(
                  () ->
                      container
                          .at("created")
                          .string()
                          .map(
                              created ->
                                  DockerContainerIndex.derived(
                                      container.at("path").string().orElse("") + "\0" + created)));
      Optional<String> action =
          Optional.ofNullable(
              switch (verb) {
                case "created" -> "create";
                case "started" -> "start";
                case "exited" -> "die";
                case "stopped" -> "stop";
                case "restarted" -> "restart";
                case "removed" -> "destroy";
                case "renamed" -> "rename";
                case "updated" -> "update";
                case "paused" -> "pause";
                case "unpaused" -> "unpause";
                case "killed" -> "kill";
                case "healthy" -> "health_status: healthy";
                case "unhealthy" -> "health_status: unhealthy";
                default -> null;
              });
      if (id.isEmpty() || action.isEmpty()) {
        return Optional.empty();
      }
      var attributes = new LinkedHashMap<>(labels);
      container.at("image").string().ifPresent(image -> attributes.put("image", image));
      container.at("name").string().ifPresent(name -> attributes.put("name", name));
      event
          .detail()
          .at("code")
          .integer()
          .ifPresent(code -> attributes.put("exitCode", code.toString()));
      event.detail().at("signal").string().ifPresent(one -> attributes.put("signal", one));
      return Optional.of(new Message("container", action.get(), id.get(), attributes));
    }

    boolean matches(DockerFilters filters) {
      return filters.any("type", type::equals)
          && filters.any(
              "event", wanted -> wanted.equals(action) || action.startsWith(wanted + ":"))
          && filters.any("scope", "local"::equals)
          && filters.labels(attributes)
          && names(filters, "container")
          && names(filters, "image")
          && names(filters, "volume")
          && names(filters, "network")
          && none(filters, List.of("daemon", "plugin", "node", "service", "secret", "config"));
    }

    /** A filter by one kind of thing keeps only events of that kind, and of its image. */
    private boolean names(DockerFilters filters, String kind) {
      if (!filters.has(kind)) {
        return true;
      }
      String name = attributes.getOrDefault("name", "");
      String image = attributes.getOrDefault("image", "");
      return switch (kind) {
        case "image" ->
            filters.any(
                "image",
                wanted ->
                    type.equals("image")
                        ? id.equals(wanted) || name.equals(wanted) || bare(name).equals(wanted)
                        : image.equals(wanted) || bare(image).equals(wanted));
        default ->
            type.equals(kind)
                && filters.any(kind, wanted -> id.startsWith(wanted) || name.equals(wanted));
      };
    }

    private static String bare(String name) {
      int colon = name.lastIndexOf(':');
      return colon > name.lastIndexOf('/') ? name.substring(0, colon) : name;
    }

    private static boolean none(DockerFilters filters, List<String> kinds) {
      return kinds.stream().noneMatch(filters::has);
    }

    Json json(Instant at) {
      Json.Builder json = Json.object();
      if (type.equals("container") || type.equals("image")) {
        json.put("status", action).put("id", id);
      }
      if (type.equals("container")) {
        json.put("from", attributes.getOrDefault("image", ""));
      }
      return json.put("Type", type)
          .put("Action", action)
          .put("Actor", Json.object().put("ID", id).put("Attributes", attributes).build())
          .put("scope", "local")
          .put("time", at.getEpochSecond())
          .put("timeNano", at.getEpochSecond() * 1_000_000_000L + at.getNano())
          .build();
    }
  }
}
