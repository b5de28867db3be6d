package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.error.Durations;
import dev.zlayer.json.Json;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(name = "prune", description = "Remove untagged images and free their space")
public final class ImagePruneCommand extends AnswerCommand {
  @Option(
      names = {"-a", "--all"},
      description = "Also remove tagged images that no container uses")
  private boolean all;

  @Option(
      names = "--older-than",
      paramLabel = "AGE",
      description = "Only images last pulled or used longer ago than this, e.g. 7d")
  private @Nullable String olderThan;

  public ImagePruneCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json request =
        Json.object()
            .put("all", all)
            .putIf(
                "older_than",
                Optional.ofNullable(olderThan).map(Durations::parse).map(Durations::print))
            .build();
    Json removal = client.post("/images/prune", Query.NONE, request);
    if (!json) {
      RemovalOutput.print(removal, session.out());
    }
    show(
        removal,
        () ->
            "reclaimed "
                + HumanUnits.bytes(removal.at("reclaimed_bytes").integer().orElse(0L))
                + "\n");
    return 0;
  }
}
