package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.json.Json;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(
    name = "load",
    description = "Load images from a tar archive (docker save or OCI layout)",
    footer = {"", "Example:  docker save app:1 | zlayer image load"})
public final class LoadCommand extends AnswerCommand {
  @Option(
      names = {"-i", "--input"},
      paramLabel = "FILE",
      description = "Archive to read (default: standard input)")
  private String input = "-";

  public LoadCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    try (InputStream archive = FileArguments.input(session, input)) {
      Json loaded =
          client.upload("POST", "/images/load", Query.NONE, DaemonClient.TAR, archive::transferTo);
      show(loaded, () -> text(loaded.items()));
    }
    return 0;
  }

  private static String text(List<Json> images) {
    var text = new StringBuilder();
    for (Json image : images) {
      List<String> names = image.at("references").strings();
      text.append(
          "loaded %s %s%n"
              .formatted(
                  names.isEmpty() ? "<none>" : String.join(", ", names), text(image, "digest")));
    }
    return text.toString();
  }
}
