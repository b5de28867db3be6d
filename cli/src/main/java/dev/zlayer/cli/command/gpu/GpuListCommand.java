package dev.zlayer.cli.command.gpu;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.cli.print.Table;
import dev.zlayer.json.Json;
import java.util.Locale;
import picocli.CommandLine.Command;

@Command(
    name = "ls",
    aliases = "list",
    description = "List GPUs with their use and the containers that have them")
public final class GpuListCommand extends AnswerCommand {
  public GpuListCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json answer = client.get("/gpus");
    show(answer, () -> table(answer).toString());
    return 0;
  }

  private static Table table(Json answer) {
    var table = new Table("NAME", "MODEL", "MEMORY", "USED", "GPU %", "CONTAINERS", "UUID");
    for (Json gpu : items(answer, "gpus")) {
      table.row(
          name(gpu),
          gpu.at("model").string().orElse("-"),
          bytes(gpu, "memory_bytes"),
          bytes(gpu, "memory_used_bytes"),
          gpu.at("percent") instanceof Json.Num(Number value)
              ? String.format(Locale.ROOT, "%.0f", value.doubleValue())
              : "-",
          String.join(
              ", ",
              gpu.at("used_by").items().stream()
                  .map(use -> text(use, "name") + " (" + text(use, "sharing") + ")")
                  .toList()),
          gpu.at("uuid").string().orElse("-"));
    }
    return table;
  }

  /** As a request names it; of another vendor with whose it is. */
  private static String name(Json gpu) {
    String kind = text(gpu, "kind");
    return kind.equals("nvidia.com/gpu") ? text(gpu, "name") : kind + "=" + text(gpu, "name");
  }

  private static String bytes(Json gpu, String member) {
    return gpu.at(member).integer().map(HumanUnits::bytes).orElse("-");
  }
}
