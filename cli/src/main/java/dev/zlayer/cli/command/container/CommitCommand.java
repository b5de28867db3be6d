package dev.zlayer.cli.command.container;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.client.Target;
import dev.zlayer.cli.command.AnswerCommand;
import dev.zlayer.json.Json;
import dev.zlayer.oci.ImageRef;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "commit",
    description = "Create an image from a container: its image and what was changed in it",
    footer = {
      "",
      "Example:  zlayer commit --change 'CMD [\"serve\"]' -m 'with tools' web web:tools",
      "",
      "Volumes are not part of the image. A running container is paused meanwhile."
    })
public final class CommitCommand extends AnswerCommand {
  @Option(
      names = {"-a", "--author"},
      paramLabel = "TEXT",
      description = "Author of the image")
  private @Nullable String author;

  @Option(
      names = {"-m", "--message"},
      paramLabel = "TEXT",
      description = "Comment on the change, shown by 'image history'")
  private @Nullable String message;

  @Option(
      names = {"-c", "--change"},
      paramLabel = "INSTRUCTION",
      description =
          "Apply a Dockerfile instruction: CMD, ENTRYPOINT, ENV, EXPOSE, LABEL, STOPSIGNAL, USER,"
              + " VOLUME or WORKDIR; may be repeated")
  private List<String> changes = List.of();

  @Option(names = "--no-pause", description = "Do not pause the container")
  private boolean running;

  @Parameters(
      index = "0",
      paramLabel = "CONTAINER",
      description = "Container as deployment/service[/replica], name or id")
  private String name = "";

  @Parameters(index = "1", paramLabel = "IMAGE", description = "Name of the image")
  private String image = "";

  public CommitCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    ImageRef as = ImageRef.parse(image);
    Json made =
        client.post(
            "/images/commit",
            Query.NONE,
            Json.object()
                .put("container", String.join(":", Target.parse(name).parts()))
                .put("ref", as.familiar())
                .putIf("author", Optional.ofNullable(author))
                .putIf("message", Optional.ofNullable(message))
                .put("changes", changes)
                .put("live", running)
                .build());
    show(made, () -> as.familiar() + " " + text(made, "digest") + "\n");
    return 0;
  }
}
