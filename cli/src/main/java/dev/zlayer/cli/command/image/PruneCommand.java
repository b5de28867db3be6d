package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.print.Amounts;
import dev.zlayer.error.Durations;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.ImageRemoval;
import dev.zlayer.port.PruneFilter;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "prune",
    description = "Remove images that nothing refers to, and free their space.")
public final class PruneCommand implements Callable<Integer> {
  private final Session session;

  @Mixin private StoreOptions store = new StoreOptions();

  @Option(
      names = {"-a", "--all"},
      description = "Also images that have a name, if no container uses them.")
  private boolean all;

  @Option(
      names = "--older-than",
      paramLabel = "AGE",
      description = "Only those last pulled or used before that long ago, for example 7d.")
  private @Nullable String olderThan;

  @Option(names = "--json", description = "Print JSON.")
  private boolean json;

  public PruneCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() {
    var filter = new PruneFilter(all, Optional.ofNullable(olderThan).map(Durations::parse));
    ImageRemoval removal;
    try (var open = store.open(session)) {
      removal = open.images().prune(filter);
    }
    if (json) {
      session.out().print(JsonText.pretty(ImageJson.of(removal)));
    } else {
      Removals.print(removal, session.out());
      session.out().println("reclaimed " + Amounts.bytes(removal.reclaimedBytes()));
    }
    return 0;
  }
}
