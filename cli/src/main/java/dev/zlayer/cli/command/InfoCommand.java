package dev.zlayer.cli.command;

import dev.zlayer.cli.Locations;
import dev.zlayer.cli.Session;
import dev.zlayer.cli.print.Amounts;
import dev.zlayer.cli.print.Table;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.probe.HostFacts;
import dev.zlayer.host.probe.HostPart;
import dev.zlayer.host.probe.HostProbe;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.runtime.oci.tool.OciTool;
import dev.zlayer.runtime.oci.tool.OciTools;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(name = "info", description = "Show what this node is, what it has, and what to install.")
public final class InfoCommand implements Callable<Integer> {
  private static final String USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin";

  private final Session session;

  @Option(names = "--json", description = "Print JSON.")
  private boolean json;

  public InfoCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws InterruptedException {
    // a user's PATH often lacks sbin, where these programs live
    String path = session.variable("PATH").map(own -> own + ":" + USUAL_PATH).orElse(USUAL_PATH);
    HostFacts facts = new HostProbe(path, HostProbe.CNI_DIRECTORIES).probe();
    Trial trial = trial();
    session.out().print(json ? JsonText.pretty(asJson(facts, trial)) : asText(facts, trial));
    return 0;
  }

  /**
   * What came of trying the OCI runtimes.
   *
   * @param chosen the name of the one that is used; empty when containers cannot run
   * @param verdicts by name of the runtime
   */
  private record Trial(Optional<String> chosen, Map<String, String> verdicts, String problem) {}

  private Trial trial() throws InterruptedException {
    DataDir directory = Locations.dataDir(session, Optional.empty());
    try {
      OciTools tools = OciTools.find(OciTools.Choice.AUTOMATIC, directory.ociTools());
      Map<String, String> verdicts = new LinkedHashMap<>();
      for (OciTool tool : tools.tried()) {
        verdicts.put(
            tool.name(),
            tool.problem()
                .map(problem -> "does not work here: " + problem)
                .orElse(tool.equals(tools.runtime()) ? "used" : "works"));
      }
      return new Trial(Optional.of(tools.runtime().name()), verdicts, "");
    } catch (AgentException.Configuration e) {
      return new Trial(Optional.empty(), Map.of(), String.valueOf(e.getMessage()));
    }
  }

  private static String asText(HostFacts facts, Trial trial) {
    var text = new StringBuilder();
    text.append("platform  ").append(facts.platform()).append('\n');
    text.append("kernel    ").append(facts.kernel()).append('\n');
    text.append("cgroups   ").append(lower(facts.cgroups())).append('\n');
    text.append("memory    ").append(Amounts.bytes(facts.memoryBytes())).append('\n');
    text.append("cpus      ").append(facts.cpus()).append('\n');
    text.append("root      ").append(facts.root() ? "yes" : "no").append('\n');
    text.append("overlayfs ").append(facts.overlay() ? "yes" : "no").append("\n\n");
    var table = new Table("PART", "VERSION", "NEEDED TO", "STATE");
    for (HostPart part : facts.parts()) {
      table.row(
          part.name(),
          part.version().orElse("-"),
          part.purpose(),
          part.path().map(Path::toString).orElse("absent: " + part.advice())
              + Optional.ofNullable(trial.verdicts().get(part.name()))
                  .map(verdict -> " (" + verdict + ")")
                  .orElse(""));
    }
    text.append(table).append('\n');
    List<String> obstacles = facts.obstacles();
    if (obstacles.isEmpty() && trial.chosen().isPresent()) {
      return text.append("containers can run here\n").toString();
    }
    text.append("containers cannot run here yet:\n");
    obstacles.forEach(obstacle -> text.append("  ").append(obstacle).append('\n'));
    if (obstacles.isEmpty()) {
      text.append("  ").append(trial.problem()).append('\n');
    }
    return text.toString();
  }

  private static Json asJson(HostFacts facts, Trial trial) {
    List<Json.Obj> parts =
        facts.parts().stream()
            .map(
                part ->
                    Json.object()
                        .put("name", part.name())
                        .put("present", part.present())
                        .put("purpose", part.purpose())
                        .putIf("path", part.path())
                        .putIf("version", part.version())
                        .putIf("verdict", Optional.ofNullable(trial.verdicts().get(part.name())))
                        .put("package", part.debianPackage())
                        .build())
            .toList();
    return Json.object()
        .put("platform", facts.platform())
        .put("kernel", facts.kernel())
        .put("cgroups", lower(facts.cgroups()))
        .put("memory_bytes", facts.memoryBytes())
        .put("cpus", facts.cpus())
        .put("root", facts.root())
        .put("overlayfs", facts.overlay())
        .put("parts", parts)
        .put("obstacles", facts.obstacles())
        .putIf("oci_runtime", trial.chosen())
        .build();
  }

  private static String lower(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }
}
