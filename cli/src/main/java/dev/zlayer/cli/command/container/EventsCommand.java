package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.ServerEvents;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.EventLines;
import dev.zlayer.cli.print.Style;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
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
      "With --json, prints one JSON object per line."
    })
public final class EventsCommand extends AnswerCommand {
  @Option(
      names = {"-f", "--follow"},
      description = "Follow new events")
  private boolean follow;

  @Option(
      names = "--since",
      paramLabel = "NUMBER",
      description = "Show only events after this number")
  private long since;

  @Option(names = "--deployment", paramLabel = "NAME", description = "Show only this deployment")
  private @Nullable String deployment;

  @Option(
      names = "--kind",
      paramLabel = "KIND",
      description = "Show only this type of event, e.g. job.completed")
  private @Nullable String kind;

  private long last;

  public EventsCommand(Session session) {
    super(session);
  }

  @Override
  protected boolean streams() {
    return true;
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    last = since;
    List<Json> events;
    do {
      Json page = client.get("/events", query());
      if (page.at("missed").bool().orElse(false)) {
        missed(page);
      }
      events = items(page, "events");
      events.forEach(this::event);
      last = page.at("next").integer().orElse(last);
    } while (!events.isEmpty());
    session.out().flush();
    return follow ? reconnecting(client).run(() -> follow(client)) : 0;
  }

  private int follow(DaemonClient client) throws InterruptedException {
    try (ServerEvents events = client.events(query().and("follow", true))) {
      for (Optional<Json> event = events.next(); event.isPresent(); event = events.next()) {
        if (event.get().at("seq").integer().isPresent()) {
          event(event.get());
        } else {
          missed(event.get());
        }
        session.out().flush();
      }
    }
    throw new dev.zlayer.cli.client.ConnectionLost("the daemon closed the event stream", null);
  }

  private Query query() {
    return Query.of("since", last)
        .andIf("deployment", Optional.ofNullable(deployment))
        .andIf("kind", Optional.ofNullable(kind));
  }

  /** Whoever has seen nothing yet misses nothing. */
  private void missed(Json told) {
    if (last > 0) {
      tell(
          "some events after %d are no longer kept; the oldest is %d"
              .formatted(last, told.at("oldest").integer().orElse(0L)));
    }
  }

  private void event(Json event) {
    last = event.at("seq").integer().orElse(last);
    print(json ? JsonText.print(event) : EventLines.of(event, Style.of(session.colours())));
  }
}
