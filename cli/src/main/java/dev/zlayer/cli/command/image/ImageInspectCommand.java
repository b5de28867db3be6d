package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(name = "inspect", description = "Show image details; always prints JSON")
public final class ImageInspectCommand extends AnswerCommand {
  @Parameters(paramLabel = "IMAGE", arity = "1..*", description = "Image reference")
  private List<String> images = List.of();

  public ImageInspectCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    var found = new ArrayList<Json>();
    for (String image : images) {
      found.add(client.get("/images/inspect", Query.of("ref", ImageRef.parse(image).familiar())));
    }
    session.out().print(JsonText.pretty(found.size() == 1 ? found.getFirst() : Json.of(found)));
    return 0;
  }
}
