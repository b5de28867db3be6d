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
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "rm",
    aliases = "remove",
    description = "Untag images, and remove images without a tag")
public final class ImageRemoveCommand extends AnswerCommand {
  @Option(
      names = {"-f", "--force"},
      description = "Remove images that containers use too")
  private boolean force;

  @Parameters(paramLabel = "IMAGE", arity = "1..*", description = "Image reference")
  private List<String> images = List.of();

  public ImageRemoveCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws Exception {
    var removals = new ArrayList<Json>();
    int code =
        forEach(
            images,
            image ->
                removals.add(
                    client.delete(
                        "/images",
                        Query.of("ref", ImageRef.parse(image).familiar()).flag("force", force))));
    if (json) {
      session.out().print(JsonText.pretty(Json.of(removals)));
    } else {
      removals.forEach(removal -> RemovalOutput.print(removal, session.out()));
    }
    return code;
  }
}
