package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.oci.PullPolicy;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "pull",
    description = "Pull images from a registry",
    footer = {
      "",
      "Examples:",
      "  zlayer pull alpine:3.20",
      "  zlayer pull --policy newer localhost:5000/team/app",
      "  echo \"$TOKEN\" | zlayer pull --user ci --password-stdin registry.example.com/app:1"
    })
public final class PullCommand extends AnswerCommand {
  @Option(
      names = "--policy",
      paramLabel = "POLICY",
      description = "always, newer, if_not_present or never (default: always)")
  private PullPolicy policy = PullPolicy.ALWAYS;

  @Option(
      names = "--platform",
      paramLabel = "OS/ARCH",
      description = "Platform of a multi-platform image (default: this host's)")
  private @Nullable String platform;

  @Option(names = "--user", paramLabel = "NAME", description = "Registry user name")
  private @Nullable String user;

  @Option(names = "--password-stdin", description = "Read the password from standard input")
  private boolean passwordFromInput;

  @Option(
      names = {"-q", "--quiet"},
      description = "Print digests only")
  private boolean quiet;

  @Parameters(paramLabel = "IMAGE", arity = "1..*", description = "Image reference")
  private List<String> images = List.of();

  public PullCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    List<ImageRef> wanted = images.stream().map(ImageRef::parse).toList();
    Optional<String> forPlatform =
        Optional.ofNullable(platform).map(Platform::parse).map(Platform::toString);
    Optional<Json> auth = auth();
    var pulled = new ArrayList<Json>();
    for (ImageRef image : wanted) {
      Json request =
          Json.object()
              .put("ref", image.familiar())
              .put("policy", policy)
              .putIf("platform", forPlatform)
              .putIf("auth", auth)
              .build();
      Json result = new Pulling(session, client).pull(image.familiar(), request, quiet || json);
      pulled.add(result);
      tell(image, result);
    }
    if (json) {
      session.out().print(JsonText.pretty(Json.of(pulled)));
    }
    return 0;
  }

  private void tell(ImageRef image, Json result) {
    if (quiet) {
      print(text(result, "digest"));
    } else if (!json) {
      print(
          "%s %s %s %s"
              .formatted(
                  image.familiar(),
                  text(result, "digest"),
                  text(result, "platform"),
                  result.at("size").integer().map(HumanUnits::bytes).orElse("-")));
    }
  }

  private Optional<Json> auth() throws IOException {
    if (user == null && !passwordFromInput) {
      return Optional.empty();
    }
    if (user == null || !passwordFromInput) {
      throw new AgentException.InvalidSpec("give --user and --password-stdin together");
    }
    String password =
        new String(session.in().readAllBytes(), StandardCharsets.UTF_8).stripTrailing();
    return Optional.of(Json.object().put("user", user).put("password", password).build());
  }
}
