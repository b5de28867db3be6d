package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.JsonLines;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.oci.ImageRef;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@CommandLine.Command(
    name = "build",
    description = "Build an image from a Dockerfile, with buildah on the daemon's host",
    footer = {
      "",
      "Examples:",
      "  zlayer build -t app:1 .",
      "  zlayer build -t app:1 -f docker/Dockerfile --build-arg VERSION=2 ."
    })
public final class BuildCommand extends ClientCommand {
  @Option(
      names = {"-t", "--tag"},
      paramLabel = "NAME",
      description = "Image name; may be repeated")
  private List<String> tags = List.of();

  @Option(
      names = {"-f", "--file"},
      paramLabel = "FILE",
      description = "Path of the Dockerfile in the context (default: Dockerfile)")
  private String file = "Dockerfile";

  @Option(
      names = "--build-arg",
      paramLabel = "NAME=VALUE",
      description = "Build argument; may be repeated")
  private List<String> arguments = List.of();

  @Option(names = "--label", paramLabel = "NAME=VALUE", description = "Label; may be repeated")
  private List<String> labels = List.of();

  @Option(names = "--target", paramLabel = "STAGE", description = "Stage to stop at")
  private @Nullable String target;

  @Option(names = "--pull", description = "Pull base images even if they are present")
  private boolean pull;

  @Option(
      names = {"-q", "--quiet"},
      description = "Print the digest only")
  private boolean quiet;

  @Parameters(
      paramLabel = "DIRECTORY",
      description = "Build context: the Dockerfile and the files that it copies")
  private String directory = ".";

  public BuildCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException {
    Path context = session.resolve(directory);
    if (!Files.isDirectory(context)) {
      throw new AgentException.NotFound("directory '" + directory + "'", "there is none");
    }
    Query query =
        Query.of("dockerfile", file)
            .all("tag", tags.stream().map(ImageRef::parse).map(ImageRef::familiar).toList())
            .all("arg", arguments)
            .all("label", labels)
            .all("target", Optional.ofNullable(target).stream().toList())
            .and("pull", String.valueOf(pull));
    Process tar = Processes.start(Command.of("tar", "-C", context.toString(), "-c", "."));
    try (JsonLines lines =
        client.stream(
            "/images/build",
            query,
            DaemonClient.TAR,
            out -> tar.getInputStream().transferTo(out))) {
      for (Optional<Json> line = lines.next(); line.isPresent(); line = lines.next()) {
        if (line.get().at("type").string().filter("result"::equals).isPresent()) {
          print(line.get().at("digest").string().orElse(""));
          return 0;
        }
        if (!quiet) {
          line.get().at("text").string().ifPresent(this::tell);
        }
      }
    } finally {
      tar.destroyForcibly();
    }
    throw new AgentException.Network("the daemon did not report the result of the build");
  }
}
