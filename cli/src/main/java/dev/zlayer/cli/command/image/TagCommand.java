package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.json.Json;
import dev.zlayer.oci.ImageRef;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(name = "tag", description = "Add a tag to an image")
public final class TagCommand extends ClientCommand {
  @Parameters(index = "0", paramLabel = "IMAGE", description = "Local image")
  private String source = "";

  @Parameters(index = "1", paramLabel = "NAME", description = "New tag; moved if it exists")
  private String target = "";

  public TagCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Json names =
        Json.object()
            .put("source", ImageRef.parse(source).familiar())
            .put("target", ImageRef.parse(target).familiar())
            .build();
    client.post("/images/tag", Query.NONE, names);
    return 0;
  }
}
