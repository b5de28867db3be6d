package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.JsonLines;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.cli.print.HumanUnits;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "push",
    description = "Push an image to the registry that its name says",
    footer = {
      "",
      "Examples:",
      "  zlayer image tag app:1 registry.example.com/team/app:1",
      "  zlayer push registry.example.com/team/app:1"
    })
public final class PushCommand extends AnswerCommand {
  @Option(
      names = {"-q", "--quiet"},
      description = "Print the digest only")
  private boolean quiet;

  @Parameters(paramLabel = "IMAGE", description = "Image reference with a tag")
  private String image = "";

  public PushCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    ImageRef wanted = ImageRef.parse(image);
    Json request =
        Json.object()
            .put("ref", wanted.familiar())
            .putIf("auth", RegistryCredentials.of(session, wanted))
            .build();
    try (JsonLines lines =
        client.stream(
            "POST", "/images/push", Query.NONE, DaemonClient.JSON, JsonText.bytes(request))) {
      for (Optional<Json> line = lines.next(); line.isPresent(); line = lines.next()) {
        if (text(line.get(), "type").equals("result")) {
          result(wanted, line.get());
          return 0;
        }
        if (!quiet && !json) {
          progress(line.get()).ifPresent(this::tell);
        }
      }
    }
    throw new AgentException.Network("the daemon did not report the result of pushing " + wanted);
  }

  private void result(ImageRef wanted, Json result) {
    Json answer =
        Json.object()
            .put("ref", wanted.familiar())
            .put("digest", result.at("digest"))
            .put("size", result.at("size"))
            .build();
    String digest = text(result, "digest");
    show(answer, () -> (quiet ? digest : wanted.familiar() + " " + digest) + "\n");
  }

  /** One line per blob that is there, and per notice. */
  private static Optional<String> progress(Json line) {
    if (text(line, "type").equals("notice")) {
      return line.at("text").string();
    }
    Optional<String> blob = line.at("blob").string().map(Digest::parse).map(Digest::brief);
    String size = line.at("total").integer().map(HumanUnits::bytes).orElse("-");
    return switch (text(line, "step")) {
      case "exists" -> blob.map(id -> id + ": already exists");
      case "mounted" -> blob.map(id -> id + ": mounted from another repository");
      case "pushed" -> blob.map(id -> id + ": pushed, " + size);
      default -> Optional.empty();
    };
  }
}
