package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.DaemonProblem;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.cli.print.LogPrinter;
import dev.zlayer.cli.print.TerminalText;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.time.temporal.ChronoUnit;
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
      "  zlayer logs --previous shop/api      what the last failed replicas printed",
      "  zlayer logs --grep 'disk full' shop  lines with a text; an index skips most of a long log",
      "",
      "A service whose containers have printed nothing shows what its last ended replica printed.",
      "Following continues across daemon restarts and includes replicas started later.",
      "The output of a single container is printed byte for byte."
    })
public final class LogsCommand extends ClientCommand {
  @Option(
      names = {"-f", "--follow"},
      description = "Follow new output")
  boolean follow;

  @Option(
      names = {"-n", "--tail"},
      paramLabel = "LINES",
      description = "Number of lines to show from the end of each container's output")
  @Nullable Integer tail;

  @Option(
      names = "--since",
      paramLabel = "WHEN",
      description = "Show output since a duration ago or a time, e.g. 10m or 2026-11-15T08:00:00Z")
  @Nullable String since;

  @Option(
      names = "--until",
      paramLabel = "WHEN",
      description = "Show output before a duration ago or a time")
  @Nullable String until;

  @Option(
      names = {"-t", "--timestamps"},
      description = "Show timestamps")
  boolean times;

  @Option(names = "--json", description = "Print each line as a JSON object")
  boolean json;

  @Option(names = "--no-prefix", description = "Do not print the source of each line")
  boolean noPrefix;

  @Option(names = "--raw", description = "Write control characters to a terminal unescaped")
  boolean raw;

  @Option(
      names = {"-p", "--previous"},
      description = "Show what ended replicas and failed init steps of services printed last")
  boolean previous;

  @Option(
      names = {"-g", "--grep"},
      paramLabel = "TEXT",
      description = "Show only lines with this text")
  @Nullable String grep;

  @Option(
      names = {"-i", "--ignore-case"},
      description = "With --grep: ignore upper and lower case")
  boolean ignoreCase;

  @Option(names = "--stdout", description = "Show standard output only")
  boolean onlyOut;

  @Option(names = "--stderr", description = "Show standard error only")
  boolean onlyErr;

  @Parameters(
      paramLabel = "TARGET",
      arity = "1..*",
      description =
          "Deployment, service, replica or container: deployment[/service[/replica]], name or id")
  List<String> targets = List.of();

  public LogsCommand(Session session) {
    super(session);
  }

  @Override
  protected boolean streams() {
    return follow;
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    if (ignoreCase && grep == null) {
      throw new AgentException.InvalidSpec("--ignore-case needs --grep TEXT");
    }
    if (grep != null && previous) {
      throw new AgentException.InvalidSpec("--grep searches kept output, not that of --previous");
    }
    if (previous) {
      for (String target : targets) {
        List<Json> all = ended(client, target);
        all.forEach(this::showEnded);
      }
      return 0;
    }
    Instant now = Instant.now();
    Query filter = query().andIf("grep", Optional.ofNullable(grep)).flag("ignore_case", ignoreCase);
    var request =
        new LogRequest(
            filter,
            filter
                .andIf("since", when("--since", since, now))
                .andIf("until", when("--until", until, now)),
            Optional.ofNullable(tail),
            follow,
            json,
            !noPrefix);
    var printer = LogPrinter.of(session, times, raw);
    var view = new LogView(client, reconnecting(client), session.out(), printer, request);
    try {
      if (!view.show(targets) && grep == null) {
        showLast(client);
      }
    } catch (AgentException.NotFound e) {
      if (follow || grep != null || !showLast(client)) {
        throw e;
      }
    }
    return 0;
  }

  /**
   * What the last ended replica printed: a service that fails again and again has no container most
   * of the time, or one that has printed nothing yet.
   */
  private boolean showLast(DaemonClient client) throws InterruptedException {
    boolean shown = false;
    for (String target : targets) {
      List<Json> ended = target.matches("[^/]+/[^/]+(/[^/]+)?") ? last(client, target) : List.of();
      if (!ended.isEmpty()) {
        showEnded(ended.getLast());
        tell("'zlayer logs --previous %s' shows all that is kept".formatted(target));
        shown = true;
      }
    }
    return shown;
  }

  private List<Json> last(DaemonClient client, String target) throws InterruptedException {
    try {
      return ended(client, target);
    } catch (DaemonProblem e) {
      return List.of(); // not a service
    }
  }

  /** Kept by service: most of the time one that fails again and again has no container. */
  private List<Json> ended(DaemonClient client, String target) throws InterruptedException {
    String[] parts = target.split("/", -1);
    if (parts.length < 2 || parts.length > 3) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a service; --previous needs deployment/service[/replica]".formatted(target));
    }
    Json answer =
        client.get(
            "/deployments/%s/services/%s/ended"
                .formatted(Query.segment(parts[0]), Query.segment(parts[1])),
            Query.NONE);
    return answer.items().stream()
        .filter(
            one ->
                parts.length == 2
                    || parts[2].equals(Long.toString(one.at("replica").integer().orElse(0L))))
        .toList();
  }

  private void showEnded(Json ended) {
    if (json) {
      session.out().println(JsonText.print(ended));
    } else {
      tell(
          "%s ended at %s: %s"
              .formatted(
                  ended.at("container").string().orElse("").replaceFirst("@\\d+$", ""),
                  ended
                      .at("at")
                      .string()
                      .map(at -> Instant.parse(at).truncatedTo(ChronoUnit.SECONDS).toString())
                      .orElse("-"),
                  ended.at("status").string().orElse("")));
      ended
          .at("lines")
          .strings()
          .forEach(line -> session.out().println(TerminalText.escapeLine(line)));
    }
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
