package dev.zlayer.cli.command;

import dev.zlayer.cli.Locations;
import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.print.InfoText;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.linux.UserManager;
import dev.zlayer.host.probe.HostFacts;
import dev.zlayer.host.probe.HostProbe;
import dev.zlayer.host.process.RootlessHost;
import dev.zlayer.json.Json;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;
import picocli.CommandLine.Command;

@Command(
    name = "info",
    description = "Show facts about this node, and which packages are missing",
    footer = {"", "Without a daemon, shows what can be read from this host."})
public final class InfoCommand extends AnswerCommand {
  private static final String USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin";

  public InfoCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Optional<Json> told = client.getIfRunning("/info");
    Json facts = told.isPresent() ? told.get() : local();
    show(facts, () -> InfoText.of(facts));
    return 0;
  }

  private Json local() throws InterruptedException {
    // a user's PATH often lacks sbin, where these programs live
    String path = session.variable("PATH").map(own -> own + ":" + USUAL_PATH).orElse(USUAL_PATH);
    HostFacts facts = new HostProbe(path, HostProbe.CNI_DIRECTORIES).probe();
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
                        .put("package", part.debianPackage())
                        .build())
            .toList();
    return Json.object()
        .put("platform", facts.platform())
        .put("kernel", facts.kernel())
        .put("cgroups", facts.cgroups().name().toLowerCase(Locale.ROOT))
        .put("memory_bytes", facts.memoryBytes())
        .put("cpus", facts.cpus())
        .put("root", facts.root())
        .put("overlayfs", facts.overlay())
        .put("parts", parts)
        .put("obstacles", facts.obstacles(missing(path)))
        .put("warnings", facts.root() ? List.of() : lacks())
        .build();
  }

  private List<String> missing(String path) {
    DataDir dirs = Locations.dataDir(session, Optional.empty());
    return new RootlessHost(dirs.run(), path, Locations.user()).missing();
  }

  private static List<String> lacks() {
    String user = Locations.user();
    UserManager manager = UserManager.read(user);
    return Stream.of(manager.limits(user), manager.staying(user))
        .flatMap(Optional::stream)
        .map(lack -> lack.what() + ": " + lack.remedy())
        .toList();
  }
}
