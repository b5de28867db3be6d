package dev.zlayer.cli.command.system;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "prune",
    description = "Remove stopped containers and unused images, after showing them",
    footer = {
      "",
      "Containers of deployments are kept: 'zlayer down' removes them. Volumes are kept without",
      "--volumes; those of deployments always."
    })
public final class SystemPruneCommand extends PruneCommand {
  @Option(
      names = {"-a", "--all"},
      description = "All unused images, not only those without a name")
  private boolean all;

  @Option(names = "--volumes", description = "Unused volumes too")
  private boolean volumes;

  public SystemPruneCommand(Session session) {
    super(session);
  }

  @Override
  List<String> preview(Unused unused) {
    var lines = new ArrayList<String>();
    unused.stopped().forEach(one -> lines.add("container " + text(one, "name")));
    // of an image whose last container goes, the daemon decides when that is removed
    images(unused).forEach(image -> lines.add("image " + image(image)));
    if (volumes) {
      unused
          .unwanted()
          .forEach(volume -> lines.add("volume " + text(volume, "name") + size(volume)));
    }
    return lines;
  }

  private List<Json> images(Unused unused) {
    var left = new ArrayList<>(unused.containers());
    left.removeAll(unused.stopped());
    return new Unused(left, unused.images(), List.of()).images(all);
  }

  private static String image(Json image) {
    List<String> names = image.at("references").strings();
    return (names.isEmpty() ? text(image, "digest") : String.join(", ", names)) + size(image);
  }

  private static String size(Json thing) {
    return " (" + HumanUnits.bytes(thing.at("size").integer().orElse(0L)) + ")";
  }

  @Override
  Json prune(DaemonClient client, Unused unused) throws InterruptedException {
    List<Json> containers = removeAll(client, unused.stopped());
    Json images = client.post("/images/prune", Query.NONE, Json.object().put("all", all).build());
    List<Json> gone = volumes ? client.post("/volumes/prune", Query.NONE).items() : List.<Json>of();
    return Json.object()
        .put("containers", Json.of(containers))
        .put("images", images)
        .put("volumes", Json.of(gone))
        .put(
            "reclaimed_bytes",
            images.at("reclaimed_bytes").integer().orElse(0L) + Unused.bytes(gone))
        .build();
  }
}
