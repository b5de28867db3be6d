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
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
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
  private final RecentEvents recent;
  private final InstantSource clock;

  DockerEvents(StateStore store, RecentEvents recent, InstantSource clock) {
    this.store = store;
    this.recent = recent;
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
          var output = new Output(since, until, filters, out);
          // an empty commit returns the number of the last event
          long stored = since.isPresent() ? 0 : store.commit(new Change(List.of(), List.of()));
          long kept = recent.last();
          out.flush();
          if (since.isPresent()) {
            List<RecentEvents.Recent> others = recent.after(0);
            kept = others.isEmpty() ? 0 : others.getLast().number();
            stored = replay(output, others);
          }
          follow(output, stored, kept);
        });
  }

  /** Where messages go that a client asked for. */
  private record Output(
      Optional<Instant> since,
      Optional<Instant> until,
      DockerFilters filters,
      ApiResponse.Lined out) {
    void write(Instant at, Message message) throws IOException {
      boolean early = since.filter(at::isBefore).isPresent();
      boolean late = until.filter(at::isAfter).isPresent();
      if (!early && !late && message.matches(filters)) {
        out.line(message.json(at));
      }
    }

    /** How long to wait at most; not positive when the time is over. */
    Duration left(Instant now) {
      Duration left = until.map(end -> Duration.between(now, end)).orElse(LONGEST_WAIT);
      return left.compareTo(LONGEST_WAIT) < 0 ? left : LONGEST_WAIT;
    }
  }

  /** What has happened, in the order of time; returns the number of the last stored event. */
  private long replay(Output output, List<RecentEvents.Recent> unstored) throws IOException {
    var others = new ArrayDeque<>(unstored);
    long from = 0;
    for (EventPage page = store.events(from, PAGE);
        !page.events().isEmpty();
        page = store.events(from, PAGE)) {
      for (EventPage.Numbered numbered : page.events()) {
        Event event = numbered.event();
        while (!others.isEmpty() && others.getFirst().at().isBefore(event.at())) {
          RecentEvents.Recent other = others.removeFirst();
          output.write(other.at(), other.message());
        }
        write(output, event);
      }
      from = page.last();
    }
    for (RecentEvents.Recent other : others) {
      output.write(other.at(), other.message());
    }
    return from;
  }

  private static void write(Output output, Event event) throws IOException {
    Optional<Message> message = Message.of(event);
    if (message.isPresent()) {
      output.write(event.at(), message.get());
    }
  }

  /** What happens from now on, both what is stored and what is not. */
  private void follow(Output output, long stored, long kept)
      throws IOException, InterruptedException {
    try (var _ = recent.listen();
        var scope = new TaskScope("events")) {
      scope.fork(
          () -> {
            followRecent(output, kept);
            return true;
          });
      followStored(output, stored);
      scope.join();
    }
  }

  private void followStored(Output output, long stored) throws IOException, InterruptedException {
    long from = stored;
    while (true) {
      EventPage page = store.events(from, PAGE);
      for (EventPage.Numbered numbered : page.events()) {
        write(output, numbered.event());
      }
      from = page.last();
      Duration left = output.left(clock.instant());
      if (page.events().isEmpty()) {
        if (!left.isPositive()) {
          return;
        }
        boolean _ = store.awaitEvent(from, Deadline.after(left));
      }
    }
  }

  private void followRecent(Output output, long kept) throws IOException, InterruptedException {
    long from = kept;
    while (true) {
      List<RecentEvents.Recent> more = recent.after(from);
      for (RecentEvents.Recent one : more) {
        output.write(one.at(), one.message());
        from = one.number();
      }
      Duration left = output.left(clock.instant());
      if (more.isEmpty()) {
        if (!left.isPositive()) {
          return;
        }
        recent.await(from, Deadline.after(left));
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
        Map<String, String> attributes = event.detail().at("attributes").stringMap();
        // the agent's own API knows networks by their names
        boolean byName = area.equals("network") && !event.subject().matches("[0-9a-f]{64}|");
        String id =
            byName
                ? ContainerEndpoints.networkId(DockerNetworkIndex.shown(event.subject()))
                : event.subject();
        return Optional.of(new Message(area, verb, id, attributes));
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
      attributes.keySet().removeIf(name -> name.startsWith(DockerCreate.OWN));
      container.at("image").string().ifPresent(image -> attributes.put("image", image));
      container.at("name").string().ifPresent(name -> attributes.put("name", name));
      event
          .detail()
          .at("code")
          .integer()
          .ifPresent(code -> attributes.put("exitCode", code.toString()));
      event.detail().at("signal").string().ifPresent(one -> attributes.put("signal", one));
      if (verb.equals("renamed")) {
        event.detail().at("from").string().ifPresent(old -> attributes.put("oldName", "/" + old));
      }
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
