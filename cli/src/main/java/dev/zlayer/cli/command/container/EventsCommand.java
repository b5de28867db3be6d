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
    description = "Show what happened, oldest first; nothing is lost when the daemon restarts.",
    footer = {
      "",
      "Every event has a number; --since N shows what came after it. When the daemon keeps",
      "some of these no longer, it says so on standard error.",
      "With --json: one JSON object per line."
    })
public final class EventsCommand extends AnswerCommand {
  @Option(
      names = {"-f", "--follow"},
      description = "Go on with new events.")
  private boolean follow;

  @Option(names = "--since", paramLabel = "NUMBER", description = "Only what came after this one.")
  private long since;

  @Option(names = "--deployment", paramLabel = "NAME", description = "Only of this deployment.")
  private @Nullable String deployment;

  @Option(
      names = "--kind",
      paramLabel = "KIND",
      description = "Only of this kind, such as job.completed.")
  private @Nullable String kind;

  private long last;

  public EventsCommand(Session session) {
    super(session);
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
    throw new dev.zlayer.cli.client.DaemonLost("the daemon ended the stream of events", null);
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
          "the daemon has not all events after %d any more, the oldest it keeps is %d"
              .formatted(last, told.at("oldest").integer().orElse(0L)));
    }
  }

  private void event(Json event) {
    last = event.at("seq").integer().orElse(last);
    print(json ? JsonText.print(event) : EventLines.of(event, Style.of(session.colours())));
  }
}
