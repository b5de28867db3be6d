package dev.zlayer.cli;

import dev.zlayer.cli.command.Group;
import java.util.Arrays;
import java.util.Optional;
import picocli.CommandLine.Model.CommandSpec;

/** The page that {@code zlayer --help} shows: verbs by group, then a first session. */
final class HelpText {
  private HelpText() {}

  static String of(Session session) {
    var text = new StringBuilder();
    text.append("Usage: zlayer COMMAND [OPTIONS]\n\n");
    text.append("Run services, jobs and schedules from one file, on one machine or a few\n");
    for (Verb.Heading heading : Verb.Heading.values()) {
      text.append('\n').append(heading.text).append(":\n");
      Arrays.stream(Verb.values())
          .filter(verb -> verb.heading == heading)
          .forEach(
              verb -> text.append("  %-12s %s%n".formatted(verb.word, summary(verb, session))));
    }
    text.append(
        """

        Examples:
          zlayer up shop.zlayer.yml               deploy a file; starts a daemon if none answers
          zlayer ps                               what runs
          zlayer logs -f shop/api shop/web        follow two services
          zlayer job run --wait shop/report       run a job, see its output, get its exit code
          zlayer run --rm -it alpine sh           one container, with a terminal
          zlayer down shop                        take it all away

        Things are named deployment/service[/replica], or by name or id as 'zlayer ps' shows.
        Run 'zlayer COMMAND --help' for details. Exit codes: 0 done, 1 zlayer or its set-up, 2 the
        request, 3 the workload, 4 something outside, 5 belongs on another node; run, exec, wait,
        attach and job run --wait return the code of what ran.
        Variables: ZLAYER_SOCKET or ZLAYER_HOST (tcp://HOST:PORT with ZLAYER_TOKEN_FILE, or
        https:// with ZLAYER_TLS_CA, ZLAYER_TLS_CERT, ZLAYER_TLS_KEY), ZLAYER_DATA_DIR, NO_COLOR.
        """);
    return text.toString();
  }

  static String summary(Verb verb, Session session) {
    Optional<Group> group = verb.group();
    if (group.isPresent()) {
      return group.get().description();
    }
    CommandSpec spec = verb.make(session, Optional.empty()).getCommandSpec();
    String[] description = spec.usageMessage().description();
    return description.length == 0 ? "" : description[0];
  }
}
