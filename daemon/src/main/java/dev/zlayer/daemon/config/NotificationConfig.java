package dev.zlayer.daemon.config;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Text;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.yaml.YamlNode;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;

/** Who is notified, of what and how. */
@Doc("A receiver of notifications.")
public record NotificationConfig(
    @Doc("Under which it is logged and its position kept.")
        @Text(
            pattern = "[a-z0-9][a-z0-9_-]{0,62}",
            write = "lower-case letters, digits, hyphens and underscores")
        String name,
    @Doc("Where to post it; redirects are not followed.") Optional<WebhookUrl> webhook,
    @Doc("A program and its arguments; it reads the notification from standard input.")
        List<String> command,
    @Doc("Of what; everything when absent.") List<NotificationTrigger> on,
    @Doc("What is sent; the whole event as JSON when absent.")
        Optional<NotificationTemplate> template,
    @Doc("How long one attempt may take.") @Default("10s") Duration timeout,
    @Doc("How long after the event further attempts are made.") @Default("24h") Duration retryFor) {
  public NotificationConfig {
    command = List.copyOf(command);
    on = on.isEmpty() ? List.of(NotificationTrigger.values()) : List.copyOf(on);
  }

  /** Where it goes, without what is secret of it. */
  public String receiver() {
    return webhook.map(WebhookUrl::toString).orElseGet(command::getFirst);
  }

  /** What a shape cannot say; reports it with its place in the file. */
  static void check(List<NotificationConfig> all, YamlNode root, Problems problems) {
    var names = new HashSet<String>();
    for (int index = 0; index < all.size(); index++) {
      NotificationConfig one = all.get(index);
      SpecPath path = SpecPath.ROOT.key("notifications").index(index);
      if (!problems.clean(path)) {
        continue;
      }
      if (one.webhook.isPresent() != one.command.isEmpty()) {
        problems.add(root.locate(path), path, "needs either webhook or command");
      }
      if (!one.command.isEmpty() && !one.command.getFirst().startsWith("/")) {
        SpecPath program = path.key("command").index(0);
        problems.add(root.locate(program), program, "must be an absolute path, no shell is used");
      }
      if (!names.add(one.name)) {
        SpecPath name = path.key("name");
        problems.add(
            root.locate(name), name, "'%s' is used twice, choose another".formatted(one.name));
      }
      if (one.timeout.isZero() || one.timeout.compareTo(Duration.ofMinutes(10)) > 0) {
        SpecPath timeout = path.key("timeout");
        problems.add(root.locate(timeout), timeout, "must be above 0 and at most 10m");
      }
    }
  }
}
