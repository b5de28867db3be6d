package dev.zlayer.cli.command.run;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "update",
    description = "Change limits and restart policy of containers that were created with run",
    footer = {
      "",
      "Example:  zlayer update --memory 1g --cpus 2 --restart unless-stopped web",
      "",
      "Takes effect at once and for later starts; what is not named stays as it is. For a",
      "service, change its file and apply it with 'zlayer up'."
    })
public final class UpdateCommand extends ClientCommand {
  @Option(
      names = {"-m", "--memory"},
      paramLabel = "SIZE",
      description = "Memory limit, e.g. 512m")
  @Nullable String memory;

  @Option(
      names = "--memory-swap",
      paramLabel = "SIZE",
      description = "Memory plus swap limit; -1 for unlimited swap")
  @Nullable String memorySwap;

  @Option(
      names = "--memory-reservation",
      paramLabel = "SIZE",
      description = "Memory reservation (soft limit)")
  @Nullable String memoryReservation;

  @Option(names = "--cpus", paramLabel = "NUMBER", description = "Number of CPUs, e.g. 1.5")
  @Nullable Double cpus;

  @Option(
      names = {"-c", "--cpu-shares"},
      paramLabel = "WEIGHT",
      description = "CPU weight relative to other containers")
  @Nullable Integer cpuShares;

  @Option(names = "--cpuset-cpus", paramLabel = "LIST", description = "CPUs to run on, e.g. 0-3")
  @Nullable String cpuset;

  @Option(
      names = "--pids-limit",
      paramLabel = "NUMBER",
      description = "Process limit; -1 for no limit")
  @Nullable Long pids;

  @Option(
      names = "--blkio-weight",
      paramLabel = "WEIGHT",
      description = "Block I/O weight (10 to 1000)")
  @Nullable Integer blkioWeight;

  @Option(
      names = "--restart",
      paramLabel = "POLICY",
      description = "Restart policy: no, always, unless-stopped or on-failure[:MAX]")
  @Nullable String restart;

  @Parameters(paramLabel = "CONTAINER", arity = "1..*", description = "Container name or id")
  List<String> names = List.of();

  public UpdateCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    Json body = body();
    if (body.members().isEmpty()) {
      throw new AgentException.InvalidSpec(
          "nothing to change; give a limit, such as --memory, or --restart");
    }
    return forEach(
        names,
        name -> {
          Json answer = client.post(Target.parse(name).path() + "/update", Query.NONE, body);
          answer.at("warnings").strings().forEach(warning -> tell("warning: " + warning));
          print(name);
        });
  }

  private Json body() {
    return Json.object()
        .putIf("cpu", Optional.ofNullable(cpus))
        .putIf("cpu_shares", Optional.ofNullable(cpuShares))
        .putIf("cpuset", Optional.ofNullable(cpuset))
        .putIf("memory", ResourceFlags.size("--memory", memory))
        .putIf(
            "memory_swap",
            "-1".equals(memorySwap)
                ? Optional.of("-1")
                : ResourceFlags.size("--memory-swap", memorySwap))
        .putIf("memory_reservation", ResourceFlags.size("--memory-reservation", memoryReservation))
        .putIf("pids_limit", Optional.ofNullable(pids))
        .putIf("blkio_weight", Optional.ofNullable(blkioWeight))
        .putIf("restart_policy", Optional.ofNullable(restart).map(ProcessFlags::policy))
        .build();
  }
}
