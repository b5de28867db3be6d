package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.EventPage;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** What happened, durable and numbered, so that a reader who was away goes on where it was. */
public final class EventsResource implements Resource {
  private static final int PAGE = 500;
  private static final Duration HEARTBEAT = Duration.ofSeconds(15);
  private static final Duration LONG_POLL = Duration.ofSeconds(30);

  private final StateStore store;

  /**
   * One thing that happened.
   *
   * @param seq counts the events of a node
   * @param node in a cluster, the one where it happened; {@code -} for what concerns all
   */
  record EventView(
      long seq, Instant time, String kind, String subject, Json facts, Optional<String> node) {
    static EventView of(EventPage.Numbered numbered) {
      Event event = numbered.event();
      return new EventView(
          numbered.sequence(),
          event.at(),
          event.kind(),
          event.subject(),
          event.detail(),
          Optional.empty());
    }
  }

  /**
   * A part of the log.
   *
   * @param next give it as {@code since} to continue with the events of this node
   * @param missed some after {@code since} were dropped: look at the present state instead
   * @param oldest the number of the oldest one that is kept
   * @param newest the number of the newest one
   * @param resume give it as {@code since} to continue; in a cluster with the events of all nodes
   * @param missedOn in a cluster, the nodes some of whose events were dropped
   */
  record Page(
      List<EventView> events,
      long next,
      boolean missed,
      long oldest,
      long newest,
      String resume,
      Optional<List<String>> missedOn) {}

  /** Tells a stream's reader that some after {@code since} were dropped. */
  record Missed(long since, long oldest) {}

  public EventsResource(StateStore store) {
    this.store = store;
  }

  @Override
  public String title() {
    return "Events";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.view("/events", "List events.", this::events)
            .with(
                "since",
                "Events after this number (default: 0); missed and oldest report events that are no"
                    + " longer kept. In a cluster a number means this node alone; resume of an"
                    + " earlier answer, or nothing, means all nodes.")
            .withNumber("last", "Only among the newest so many, instead of since.")
            .withFlag("follow", "Wait for an event if there is none yet.")
            .with("deployment", "Only this deployment.")
            .with("kind", "Only kinds with this prefix, e.g. job or job.completed.")
            .withNumber("limit", "Maximum number of items.")
            .gives(Page.class)
            .givesType(
                ApiRequest.EVENTS,
                "All from there on, resumed by Last-Event-ID; before them an event missed when some"
                    + " are kept no longer."));
  }

  private ApiResponse events(ApiRequest call) {
    var filter = new Filter(call.query("deployment"), call.query("kind"));
    long since =
        call.header("Last-Event-ID")
            .or(() -> call.query("since"))
            .map(EventsResource::number)
            .orElseGet(() -> call.number("last").stream().mapToLong(this::before).sum());
    if (call.accepts(ApiRequest.EVENTS)) {
      return new ApiResponse.Events(out -> stream(since, filter, out));
    }
    int limit = Math.clamp(call.number("limit").orElse(PAGE), 1, 10 * PAGE);
    boolean follow = call.flag("follow", false);
    return new ApiResponse.Later(() -> page(since, filter, limit, follow));
  }

  /** The number before the newest so many. */
  private long before(int count) {
    return Math.max(0, store.events(0, 1).newest() - Math.max(0, count));
  }

  private ApiResponse page(long since, Filter filter, int limit, boolean follow)
      throws InterruptedException {
    Deadline deadline = Deadline.after(LONG_POLL);
    long from = since;
    boolean missed = false;
    while (true) {
      EventPage page = store.events(from, limit);
      List<EventView> wanted = filter.of(page);
      missed |= page.missed();
      from = page.last();
      boolean more = page.events().size() == limit;
      boolean done = !wanted.isEmpty() || (!more && (missed || !follow));
      if (done || (!more && !store.awaitEvent(from, deadline))) {
        return ApiResponse.json(
            ViewJson.of(
                new Page(
                    wanted,
                    from,
                    missed,
                    page.oldest(),
                    page.newest(),
                    Long.toString(from),
                    Optional.empty())));
      }
    }
  }

  private void stream(long since, Filter filter, ApiResponse.Eventful out)
      throws IOException, InterruptedException {
    long from = since;
    while (true) {
      EventPage page = store.events(from, PAGE);
      if (page.missed()) {
        out.event(page.from(), "missed", ViewJson.of(new Missed(from, page.oldest())));
      }
      for (EventView event : filter.of(page)) {
        out.event(event.seq(), event.kind(), ViewJson.of(event));
      }
      from = page.last();
      if (page.events().isEmpty() && !store.awaitEvent(from, Deadline.after(HEARTBEAT))) {
        out.heartbeat();
      }
    }
  }

  private static long number(String text) {
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      throw new AgentException.InvalidSpec("'%s' is not the number of an event".formatted(text), e);
    }
  }

  /** Which events are wanted. */
  private record Filter(Optional<String> deployment, Optional<String> kind) {
    List<EventView> of(EventPage page) {
      return page.events().stream().filter(this::wants).map(EventView::of).toList();
    }

    private boolean wants(EventPage.Numbered numbered) {
      Event event = numbered.event();
      return kind.map(event.kind()::startsWith).orElse(true)
          && deployment.map(name -> about(event, name)).orElse(true);
    }

    private static boolean about(Event event, String deployment) {
      return event.subject().equals(deployment)
          || event.subject().startsWith(deployment + "/")
          || event.detail().at("deployment").string().filter(deployment::equals).isPresent()
          || event
              .detail()
              .at("job")
              .string()
              .filter(job -> job.startsWith(deployment + "/"))
              .isPresent();
    }
  }
}
