package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.cli.print.LogPrinter;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "logs",
    description = "Show the output of containers, services or deployments",
    footer = {
      "",
      "Examples:",
      "  zlayer logs shop/api                 all replicas, in order of time",
      "  zlayer logs -f shop/api shop/web     follow two services",
      "  zlayer logs --since 10m --tail 100 shop",
      "",
      "Following continues across daemon restarts and includes replicas started later.",
      "The output of a single container is printed byte for byte."
    })
public final class LogsCommand extends ClientCommand {
  @Option(
      names = {"-f", "--follow"},
      description = "Follow new output")
  private boolean follow;

  @Option(
      names = {"-n", "--tail"},
      paramLabel = "LINES",
      description = "Number of lines to show from the end of each container's output")
  private @Nullable Integer tail;

  @Option(
      names = "--since",
      paramLabel = "WHEN",
      description = "Show output since a duration ago or a time, e.g. 10m or 2026-11-15T08:00:00Z")
  private @Nullable String since;

  @Option(
      names = "--until",
      paramLabel = "WHEN",
      description = "Show output before a duration ago or a time")
  private @Nullable String until;

  @Option(
      names = {"-t", "--timestamps"},
      description = "Show timestamps")
  private boolean times;

  @Option(names = "--json", description = "Print each line as a JSON object")
  private boolean json;

  @Option(names = "--no-prefix", description = "Do not print the source of each line")
  private boolean noPrefix;

  @Option(names = "--raw", description = "Write control characters to a terminal unescaped")
  private boolean raw;

  @Option(names = "--stdout", description = "Show standard output only")
  private boolean onlyOut;

  @Option(names = "--stderr", description = "Show standard error only")
  private boolean onlyErr;

  @Parameters(
      paramLabel = "TARGET",
      arity = "1..*",
      description =
          "Deployment, service, replica or container: deployment[/service[/replica]], name or id")
  private List<String> targets = List.of();

  public LogsCommand(Session session) {
    super(session);
  }

  @Override
  protected boolean streams() {
    return follow;
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Instant now = Instant.now();
    var wish =
        new LogWish(
            query()
                .andIf("since", when("--since", since, now))
                .andIf("until", when("--until", until, now)),
            Optional.ofNullable(tail),
            follow,
            json,
            !noPrefix);
    var printer = LogPrinter.of(session, times, raw);
    new LogView(client, reconnecting(client), session.out(), printer, wish).show(targets);
    return 0;
  }

  private Query query() {
    Query query = Query.NONE;
    if (onlyOut != onlyErr) {
      query = query.and("stdout", onlyOut).and("stderr", onlyErr);
    }
    return query;
  }

  /** A point in time, or that long ago. */
  static Optional<Instant> when(String option, @Nullable String text, Instant now) {
    if (text == null) {
      return Optional.empty();
    }
    try {
      return Optional.of(Instant.parse(text));
    } catch (DateTimeParseException _) {
      try {
        return Optional.of(now.minus(Durations.parse(text)));
      } catch (AgentException.InvalidSpec _) {
        throw new AgentException.InvalidSpec(
            "%s '%s' is neither a duration such as 10m nor a time such as 2026-11-15T08:00:00Z"
                .formatted(option, text));
      }
    }
  }
}
