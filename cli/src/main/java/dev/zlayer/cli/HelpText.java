package dev.zlayer.cli;

import java.util.Arrays;
import picocli.CommandLine.Model.CommandSpec;

/** The page that {@code zlayer --help} shows: verbs by group, then a first session. */
final class HelpText {
  private HelpText() {}

  static String of(Session session) {
    var text = new StringBuilder();
    text.append("Usage: zlayer COMMAND [OPTIONS]\n\n");
    text.append("Runs services, jobs and schedules from one file, on one machine or a handful.\n");
    for (Verb.Group group : Verb.Group.values()) {
      var verbs = Arrays.stream(Verb.values()).filter(verb -> verb.group == group).toList();
      if (verbs.isEmpty()) {
        continue;
      }
      text.append('\n').append(group.heading).append(":\n");
      for (Verb verb : verbs) {
        text.append("  %-12s %s%n".formatted(verb.word, summary(verb, session)));
      }
    }
    text.append(
        """

        Examples:
          zlayer validate shop.zlayer.yml     check a deployment file, all problems at once
          zlayer pull alpine:3.20             fetch an image
          zlayer image ls                     list what is here

        'zlayer COMMAND --help' tells more. Exit codes: 0 done, 1 zlayer or its set-up, 2 the
        request, 3 the workload, 4 something outside, 5 belongs on another node.
        """);
    return text.toString();
  }

  private static String summary(Verb verb, Session session) {
    CommandSpec spec = verb.make(session).getCommandSpec();
    String[] description = spec.usageMessage().description();
    return description.length == 0 ? "" : description[0];
  }
}
