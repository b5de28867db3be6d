package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.cli.print.Table;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@picocli.CommandLine.Command(
    name = "dashboard",
    description = "Print a link to the dashboard, or list and end its sessions",
    footer = {
      "",
      "The link logs in once, within five minutes. Without dashboard_listen the daemon serves the",
      "page on a free port of 127.0.0.1 from the first link on; from another machine forward that",
      "port: ssh -L PORT:127.0.0.1:PORT HOST.",
      "",
      "Examples:",
      "  zlayer dashboard",
      "  zlayer dashboard --read-only --expires 8h",
      "  zlayer dashboard sessions",
      "  zlayer dashboard revoke ID"
    })
public final class DashboardCommand extends AnswerCommand {
  private static final Duration OPENING = Duration.ofSeconds(10);

  @Option(names = "--open", description = "Open the link in a browser (xdg-open)")
  private boolean open;

  @Option(names = "--read-only", description = "Allow reading only")
  private boolean readOnly;

  @Option(
      names = "--expires",
      paramLabel = "DURATION",
      description = "Time until the session ends, up to 30d (default: 12h)")
  private @Nullable String expires;

  @Parameters(
      paramLabel = "sessions | revoke ID",
      arity = "0..*",
      description = "List the sessions, or end some by their ids")
  private List<String> words = new ArrayList<>();

  public DashboardCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    if (words.isEmpty()) {
      return link(client);
    }
    List<String> ids = words.subList(1, words.size());
    if (words.getFirst().equals("sessions") && ids.isEmpty()) {
      Json answer = client.get("/dashboard/sessions");
      show(answer, () -> table(answer, Instant.now()).toString());
      return 0;
    }
    if (words.getFirst().equals("revoke") && !ids.isEmpty()) {
      return forEach(ids, id -> client.delete("/dashboard/sessions/" + id, Query.NONE));
    }
    throw new AgentException.InvalidSpec(
        "'zlayer dashboard %s' is not a command; use 'sessions' or 'revoke ID'"
            .formatted(String.join(" ", words)));
  }

  private int link(DaemonClient client) throws InterruptedException {
    Json answer =
        client.post(
            "/dashboard/links",
            Query.NONE,
            Json.object()
                .put("read_only", readOnly)
                .putIf("expires", Optional.ofNullable(expires))
                .build());
    show(answer, () -> text(answer, "url") + "\n");
    if (open) {
      browse(URI.create(text(answer, "url")));
    }
    return 0;
  }

  private static void browse(URI link) throws InterruptedException {
    var result = Processes.run(Command.of("xdg-open", link.toString()), Deadline.after(OPENING));
    if (!result.success()) {
      throw new AgentException.Configuration(
          "no browser can be opened here: open the link yourself");
    }
  }

  private static Table table(Json answer, Instant now) {
    var table = new Table("ID", "USER", "ACCESS", "CREATED", "EXPIRES", "BROWSER");
    for (Json session : items(answer, "sessions")) {
      table.row(
          text(session, "id"),
          text(session, "user"),
          session.at("read_only").bool().orElse(false) ? "read-only" : "full",
          session
              .at("created")
              .string()
              .map(then -> HumanUnits.age(Instant.parse(then), now))
              .orElse("-"),
          text(session, "expires"),
          text(session, "browser"));
    }
    return table;
  }
}
