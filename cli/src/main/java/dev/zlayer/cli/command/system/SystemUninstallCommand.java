package dev.zlayer.cli.command.system;

import dev.zlayer.cli.Locations;
import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.DaemonProblem;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.cli.command.daemon.BackgroundDaemon;
import dev.zlayer.cli.command.daemon.Rootless;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.cli.terminal.Question;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.linux.Cgroups;
import dev.zlayer.host.linux.Links;
import dev.zlayer.host.linux.Mounts;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.host.linux.UserNamespaces;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Option;

@picocli.CommandLine.Command(
    name = "uninstall",
    description = "Remove everything that the daemon made on this machine, after showing it",
    footer = {
      "",
      "Deployments, containers, volumes, images, networks, packet filter tables, mounts, secrets,",
      "logs and the data directory; the systemd unit too. Configuration files, bind mounts and the",
      "program itself stay. Nothing of it can be brought back."
    })
public final class SystemUninstallCommand extends ClientCommand {
  /** In which containers have their groups where systemd does not manage them. */
  private static final String CGROUP_PARENT = "/zlayer";

  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final String UNIT = "zlayer.service";

  @Option(
      names = {"-f", "--force"},
      description = "Do not ask")
  private boolean force;

  @Option(names = "--dry-run", description = "Only show what would be removed")
  private boolean dryRun;

  @Option(
      names = "--unit-directory",
      paramLabel = "DIRECTORY",
      description = "Directory of systemd units (default: /etc/systemd/system)")
  private String unitDirectory = "/etc/systemd/system";

  public SystemUninstallCommand(Session session) {
    super(session);
  }

  /** What the daemon knows of itself while it still runs. */
  private record Installed(
      List<Json> deployments,
      List<Json> containers,
      List<Json> volumes,
      List<Json> networks,
      int images,
      DataDir directories,
      String prefix,
      Optional<Path> unit,
      boolean clustered) {}

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    if (!client.address().local()) {
      throw new AgentException.InvalidSpec(
          "the daemon at %s is not of this machine: run this command there"
              .formatted(client.address().http()));
    }
    requireOwn(client.address().http());
    DataDir own = Locations.dataDir(session, Optional.empty());
    if (Rootless.outside() && Rootless.host(session, own).present()) {
      Rootless.enter(session, own); // files of containers belong to other users outside
    }
    BackgroundDaemon background = BackgroundDaemon.of(session);
    background.ensure(client, this::tell); // only a daemon knows what there is
    Installed installed = inspect(client);
    preview(installed).forEach(line -> (dryRun ? session.out() : session.err()).println(line));
    if (dryRun) {
      return 0;
    }
    if (!force && !Question.ask(session, "Remove all of this? It cannot be brought back.")) {
      tell("nothing was removed");
      return 1;
    }
    if (installed.clustered) {
      leave(client);
    }
    removeContent(client, installed);
    stop(client, background, installed);
    removeTraces(installed);
    tell("zlayer was removed from this machine");
    return 0;
  }

  /** The daemon says which directories are removed: one of somebody else could name any. */
  private static void requireOwn(HttpAddress address) throws IOException {
    if (address instanceof HttpAddress.Unix(Path socket) && Files.exists(socket)) {
      Path mine = Files.createTempFile("zlayer", "");
      try {
        UserPrincipal owner = Files.getOwner(socket);
        if (!owner.equals(Files.getOwner(mine))) {
          throw new AgentException.InvalidSpec(
              "the daemon at %s belongs to user %s: run this command as that user"
                  .formatted(socket, owner.getName()));
        }
      } finally {
        Files.delete(mine);
      }
    }
  }

  private Installed inspect(DaemonClient client) throws InterruptedException {
    Json info = client.get("/info");
    Path data = Path.of(info.at("data_dir").string().orElseThrow());
    Optional<Path> run =
        client
            .get("/config")
            .at("run_dir")
            .at("value")
            .string()
            .filter(text -> !text.isEmpty())
            .map(Path::of);
    // another directory's daemon is not the one that the unit starts
    Optional<Path> unit =
        Optional.of(session.resolve(unitDirectory).resolve(UNIT))
            .filter(file -> data.equals(DataDir.USUAL) && Files.exists(file));
    return new Installed(
        client.get("/deployments", Query.of("local", true)).items(),
        client.get("/containers", Query.of("all", true).and("local", true)).items(),
        client.get("/volumes", Query.of("size", true).and("local", true)).items(),
        client.get("/networks", Query.of("local", true)).items(),
        Math.toIntExact(info.at("images").integer().orElse(0L)),
        run.map(directory -> new DataDir(data, directory)).orElseGet(() -> DataDir.of(data)),
        info.at("network_prefix").string().orElseThrow(),
        unit,
        Files.exists(DataDir.of(data).cluster()));
  }

  private static List<String> preview(Installed installed) {
    var lines = new ArrayList<String>();
    installed.deployments.forEach(one -> lines.add("deployment " + text(one, "name")));
    installed.containers.forEach(one -> lines.add("container " + text(one, "name")));
    installed.volumes.forEach(
        one ->
            lines.add(
                "volume %s (%s)"
                    .formatted(
                        text(one, "name"), HumanUnits.bytes(one.at("size").integer().orElse(0L)))));
    installed.networks.forEach(one -> lines.add("network " + text(one, "name")));
    lines.add("%d images".formatted(installed.images));
    lines.add("packet filter tables and bridges %s*".formatted(installed.prefix));
    lines.add("directory " + installed.directories.data());
    lines.add("directory " + installed.directories.run());
    if (installed.clustered) {
      lines.add("this node's place in its cluster; the other nodes keep running");
    }
    installed.unit.ifPresent(file -> lines.add("systemd unit " + file));
    return lines;
  }

  private static String text(Json thing, String name) {
    return thing.at(name).string().orElse("?");
  }

  /** Before anything else: what is removed afterwards must not be the cluster's. */
  private void leave(DaemonClient client) throws InterruptedException {
    try {
      Json _ = client.post("/cluster/leave", Query.NONE, Json.object().put("force", false).build());
    } catch (DaemonProblem e) {
      tell(
          "the cluster does not know that this node leaves (%s); run 'zlayer node rm' on another one"
              .formatted(e.getMessage()));
      Json _ = client.post("/cluster/leave", Query.NONE, Json.object().put("force", true).build());
    }
  }

  private void removeContent(DaemonClient client, Installed installed) throws InterruptedException {
    for (Json deployment : installed.deployments) {
      client.delete(
          "/deployments/" + Query.segment(text(deployment, "name")),
          Query.of("volumes", true).and("wait", "5m"));
    }
    for (Json container :
        client.get("/containers", Query.of("all", true).and("local", true)).items()) {
      client.delete("/containers/" + Query.segment(text(container, "id")), Query.of("force", true));
    }
  }

  private void stop(DaemonClient client, BackgroundDaemon background, Installed installed)
      throws InterruptedException, IOException {
    if (installed.unit.isPresent()) {
      attempt("systemctl", "disable", "--now", UNIT);
      Files.deleteIfExists(installed.unit.get());
      attempt("systemctl", "daemon-reload");
    }
    Optional<ProcessHandle> process = background.process(client);
    if (process.isPresent()) {
      BackgroundDaemon.stop(process.get(), LIMIT);
    }
  }

  private void removeTraces(Installed installed) throws InterruptedException, IOException {
    for (String family : List.of("ip", "ip6", "inet", "bridge")) {
      attempt("nft", "delete", "table", family, installed.prefix);
      attempt("nft", "delete", "table", family, installed.prefix + "_endpoints");
    }
    for (String link : Links.names()) {
      if (link.matches(installed.prefix + "\\d+")) {
        Links.delete(link);
      }
    }
    Cgroups.detect().removeEmpty(CGROUP_PARENT);
    List<Path> directories = List.of(installed.directories.run(), installed.directories.data());
    List<Path> mounts =
        Mounts.list().stream()
            .map(Mounts.MountPoint::target)
            .filter(target -> directories.stream().anyMatch(target::startsWith))
            .sorted(Comparator.comparingInt(Path::getNameCount).reversed())
            .toList();
    for (Path mount : mounts) {
      Mounts.detach(mount);
    }
    if (UserNamespaces.inside()) {
      Rootless.host(session, installed.directories).end();
    }
    for (Path directory : directories) {
      RootedDirectory.removeTree(directory);
    }
  }

  /** What is not there need not be removed. */
  private static void attempt(String... words) throws InterruptedException {
    try {
      Processes.run(Command.of(words), Deadline.after(LIMIT));
    } catch (AgentException.Configuration _) {
      // there is no such program, so nothing was made with it
    }
  }
}
