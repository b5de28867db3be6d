package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.JsonLines;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.ServerEvents;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.EventLines;
import dev.zlayer.cli.print.Style;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "events",
    description = "Show events, oldest first; events are kept across daemon restarts",
    footer = {
      "",
      "Every event has a number; --since N shows the events after it. If the daemon has",
      "already dropped some of them, it says so on standard error.",
      "In a cluster the events of all nodes are shown, with their node; each node counts its",
      "own, and --since N means those of the node that is asked.",
      "--audit shows who changed what instead; there --since is a time, e.g. 1h or",
      "2026-01-31T12:00:00Z.",
      "With --json, prints one JSON object per line."
    })
public final class EventsCommand extends AnswerCommand {
  /** So much may the clocks of nodes differ. */
  private static final Duration CLOCKS = Duration.ofMinutes(1);

  @Option(
      names = {"-f", "--follow"},
      description = "Follow new events")
  private boolean follow;

  @Option(
      names = "--since",
      paramLabel = "NUMBER|WHEN",
      description =
          "Show only events after this number, since a duration ago or a time, e.g. 10m or"
              + " 2026-11-15T08:00:00Z; with --audit from this time on")
  private @Nullable String since;

  @Option(names = "--audit", description = "Show the audit log: who changed what")
  private boolean audit;

  @Option(
      names = "--until",
      paramLabel = "WHEN",
      description = "Show only events before a duration ago or a time")
  private @Nullable String until;

  @Option(
      names = {"-n", "--tail"},
      paramLabel = "COUNT",
      description = "Show only the last events, and new ones with --follow")
  private @Nullable Integer tail;

  @Option(names = "--deployment", paramLabel = "NAME", description = "Show only this deployment")
  private @Nullable String deployment;

  @Option(
      names = "--kind",
      paramLabel = "KIND",
      description = "Show only this type of event, e.g. job.completed")
  private @Nullable String kind;

  /** Where to continue. */
  private Optional<String> last = Optional.empty();

  private final MissingNodes away =
      new MissingNodes(this::tell, "; what happens there follows later");

  private Optional<Instant> from = Optional.empty();
  private Optional<Instant> to = Optional.empty();

  /** The last ones so far, when only those are wanted. */
  private final Deque<Json> kept = new ArrayDeque<>();

  public EventsCommand(Session session) {
    super(session);
  }

  @Override
  protected boolean streams() {
    return true;
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    if (audit) {
      return audit(client);
    }
    if (follow && until != null) {
      throw new AgentException.InvalidSpec("--follow and --until exclude each other");
    }
    boolean number = since != null && since.matches("\\d{1,18}");
    last = number ? Optional.ofNullable(since) : Optional.empty();
    Instant now = Instant.now();
    from = number ? Optional.empty() : LogsCommand.when("--since", since, now);
    to = LogsCommand.when("--until", until, now);
    List<Json> events;
    do {
      Json page = client.get("/events", query());
      if (page.at("missed").bool().orElse(false)) {
        missed(page);
      }
      events = items(page, "events");
      events.forEach(this::event);
      last = page.at("resume").string().or(() -> page.at("next").integer().map(String::valueOf));
    } while (!events.isEmpty());
    kept.forEach(this::show);
    session.out().flush();
    if (tail != null) {
      // a node that was away, and is not known yet, comes with all that it has
      from = from.or(() -> Optional.of(now.minus(CLOCKS)));
    }
    tail = null; // new ones are shown as they come
    return follow ? reconnecting(client).run(() -> follow(client)) : 0;
  }

  private int audit(DaemonClient client) throws InterruptedException {
    boolean others = until != null || tail != null || deployment != null || kind != null;
    if (follow || others) {
      throw new AgentException.InvalidSpec("--audit goes with --since and --json only");
    }
    try (JsonLines records =
        client.stream("/audit", Query.NONE.andIf("since", Optional.ofNullable(since)))) {
      for (Optional<Json> record = records.next(); record.isPresent(); record = records.next()) {
        print(json ? JsonText.print(record.get()) : EventLines.audit(record.get()));
      }
    }
    return 0;
  }

  private int follow(DaemonClient client) throws InterruptedException {
    try (ServerEvents events = client.events(query().and("follow", true))) {
      for (Optional<Json> event = events.next(); event.isPresent(); event = events.next()) {
        if (event.get().at("seq").integer().isPresent()) {
          event(event.get());
        } else if (event.get().at("away").isNull()) {
          missed(event.get());
        } else {
          away.report(event.get().at("away"));
        }
        last = events.id().or(() -> last);
        session.out().flush();
      }
    }
    throw new dev.zlayer.cli.client.ConnectionLost("the daemon closed the event stream", null);
  }

  private Query query() {
    return Query.NONE
        .andIf("since", last)
        .andIf("deployment", Optional.ofNullable(deployment))
        .andIf("kind", Optional.ofNullable(kind));
  }

  /** Whoever has seen nothing yet misses nothing. */
  private void missed(Json told) {
    List<String> nodes =
        told.at("missed_on").items().stream().flatMap(one -> one.string().stream()).toList();
    Optional<String> node = told.at("node").string();
    if (node.isPresent() || !nodes.isEmpty()) {
      tell(
          "some events of node '%s' are no longer kept"
              .formatted(node.orElse(String.join("', '", nodes))));
    } else if (last.filter(number -> !number.equals("0")).isPresent()) {
      tell(
          "some events after %s are no longer kept; the oldest is %d"
              .formatted(last.get(), told.at("oldest").integer().orElse(0L)));
    }
  }

  private void event(Json event) {
    Optional<Instant> time = event.at("time").string().map(Instant::parse);
    if (time.isPresent()
        && (from.filter(time.get()::isBefore).isPresent()
            || to.filter(limit -> !time.get().isBefore(limit)).isPresent())) {
      return;
    }
    if (tail == null) {
      show(event);
    } else {
      kept.addLast(event);
      if (kept.size() > tail) {
        kept.removeFirst();
      }
    }
  }

  private void show(Json event) {
    print(json ? JsonText.print(event) : EventLines.of(event, Style.of(session.colours())));
  }
}
