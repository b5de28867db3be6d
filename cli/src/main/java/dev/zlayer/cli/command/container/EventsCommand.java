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
      "Every event has a number; --since N shows what came after it.",
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
    List<Json> page;
    do {
      page = items(client.get("/events", query()), "events");
      page.forEach(this::event);
    } while (!page.isEmpty());
    session.out().flush();
    return follow ? reconnecting(client).run(() -> follow(client)) : 0;
  }

  private int follow(DaemonClient client) throws InterruptedException {
    try (ServerEvents events = client.events(query().and("follow", true))) {
      for (Optional<Json> event = events.next(); event.isPresent(); event = events.next()) {
        event(event.get());
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

  private void event(Json event) {
    last = Math.max(last, event.at("seq").integer().orElse(0L));
    print(json ? JsonText.print(event) : EventLines.of(event, Style.of(session.colours())));
  }
}
