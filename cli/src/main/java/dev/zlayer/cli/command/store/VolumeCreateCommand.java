package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.cli.command.OptionHints;
import dev.zlayer.json.Json;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "create",
    description = "Create empty volumes; those that exist stay as they are",
    footer = {
      "",
      "A volume is also created by its first use. The first container that mounts an empty one",
      "fills it with what its image has at that place."
    })
public final class VolumeCreateCommand extends ClientCommand implements OptionHints {
  @Parameters(paramLabel = "NAME", arity = "1..*", description = "Names")
  private List<String> names = List.of();

  public VolumeCreateCommand(Session session) {
    super(session);
  }

  @Override
  public Optional<String> advice(String typed) {
    return typed.matches("(-d|--driver|-o|--opt|--label)(=.*)?")
        ? Optional.of("'%s' is not supported: volumes are plain directories".formatted(typed))
        : Optional.empty();
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    return forEach(
        names,
        name -> {
          client.post("/volumes", Query.NONE, Json.object().put("name", name).build());
          print(name);
        });
  }
}
