package dev.zlayer.cli.command.deploy;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "scale",
    description = "Change the number of replicas of a service",
    footer = {"", "Example:  zlayer scale shop/api=3 shop/web=2"})
public final class ScaleCommand extends AnswerCommand {
  private static final Pattern FORM = Pattern.compile("([^\\s/=]+/[^\\s/=]+)=([0-9]{1,4})");

  @Parameters(
      paramLabel = "SERVICE=COUNT",
      arity = "1..*",
      description = "deployment/service=REPLICAS")
  private List<String> requests = List.of();

  public ScaleCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    return forEach(requests, request -> scale(client, request));
  }

  private void scale(DaemonClient client, String request) throws InterruptedException {
    Matcher form = FORM.matcher(request);
    if (!form.matches()) {
      throw new AgentException.InvalidSpec(
          "'%s' is not deployment/service=replicas, write for example shop/api=3"
              .formatted(request));
    }
    Target service = Target.parse(form.group(1));
    int replicas = Integer.parseInt(form.group(2));
    Json answer =
        client.post(
            service.servicePath() + "/scale",
            Query.NONE,
            Json.object().put("replicas", replicas).build());
    show(answer, () -> service + ": " + replicas + " replicas desired\n");
  }
}
