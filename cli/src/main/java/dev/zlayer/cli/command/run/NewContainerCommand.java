package dev.zlayer.cli.command.run;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.cli.command.OptionHints;
import dev.zlayer.cli.command.daemon.BackgroundDaemon;
import dev.zlayer.cli.command.image.Pulling;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** A verb that makes one container without a deployment file, with Docker's flags. */
abstract class NewContainerCommand extends ClientCommand implements OptionHints {
  enum Pull {
    ALWAYS,
    MISSING,
    NEWER,
    NEVER
  }

  /** What the daemon calls the new container, and what people do. */
  record Made(String id, String name) {}

  @Option(
      names = {"-i", "--interactive"},
      description = "Keep standard input open")
  boolean interactive;

  @Option(
      names = {"-t", "--tty"},
      description = "Allocate a terminal")
  boolean tty;

  @Option(names = "--rm", description = "Remove the container when it exits")
  boolean remove;

  @Option(names = "--name", paramLabel = "NAME", description = "Container name")
  private @Nullable String name;

  @Option(
      names = "--pull",
      paramLabel = "WHEN",
      description = "Pull the image: always, missing, newer or never (default: missing)")
  private Pull pull = Pull.MISSING;

  @Option(
      names = "--platform",
      paramLabel = "OS/ARCH",
      description = "Platform of a multi-platform image")
  private @Nullable String platform;

  @Option(
      names = "--cidfile",
      paramLabel = "FILE",
      description = "Write the container id to this file")
  private @Nullable String idFile;

  @Option(
      names = {"-q", "--quiet"},
      description = "Do not show pull progress")
  private boolean quiet;

  @Mixin private ProcessFlags process = new ProcessFlags();
  @Mixin private ResourceFlags resources = new ResourceFlags();
  @Mixin private NetworkFlags network = new NetworkFlags();
  @Mixin private StorageFlags storage = new StorageFlags();
  @Mixin private SecurityFlags security = new SecurityFlags();
  @Mixin private HealthFlags health = new HealthFlags();

  @Parameters(index = "0", paramLabel = "IMAGE", description = "Image reference")
  private String image = "";

  @Parameters(index = "1..*", paramLabel = "ARG", description = "Command and arguments")
  private List<String> arguments = List.of();

  NewContainerCommand(Session session) {
    super(session);
  }

  @Override
  public final Optional<String> advice(String typed) {
    return RefusedFlags.advice(typed);
  }

  /** Makes it as the daemon is asked to; starts a daemon when there is none. */
  final Made make(DaemonClient client, Json body) throws InterruptedException, IOException {
    if (idFile != null && Files.exists(session.resolve(idFile))) {
      throw new AgentException.InvalidSpec(
          "--cidfile '%s' already exists; remove it or choose another file".formatted(idFile));
    }
    BackgroundDaemon.of(session)
        .ensure(
            client,
            line -> {
              if (!quiet) {
                tell(line);
              }
            });
    fetch(client, ImageRef.parse(image));
    Json made = client.post("/containers", Query.NONE, body);
    String id = made.at("id").string().orElseThrow();
    if (idFile != null) {
      Files.writeString(session.resolve(idFile), id, StandardOpenOption.CREATE_NEW);
    }
    return new Made(id, made.at("name").string().orElse(id));
  }

  /** What every new container has: the keys of a service, and a few more. */
  final Json.Builder flags(boolean start) {
    Json.Builder body =
        Json.object()
            .putIf("name", Optional.ofNullable(name))
            .put("pull", pull == Pull.NEVER ? "never" : "if_not_present")
            .put("start", start)
            .put("rm", remove)
            .put("directory", session.directory().toAbsolutePath().toString())
            .put("image", ImageRef.parse(image).familiar())
            .put("tty", tty)
            .put("stdin_open", interactive)
            .putIf("platform", Optional.ofNullable(platform).map(NewContainerCommand::platform));
    process.into(body, session, arguments);
    resources.into(body);
    network.into(body);
    storage.into(body, session);
    security.into(body);
    health.into(body);
    return body;
  }

  private static Json platform(String text) {
    Platform platform = Platform.parse(text);
    return Json.object().put("os", platform.os()).put("arch", platform.architecture()).build();
  }

  /** With progress, which making the container has none of. */
  private void fetch(DaemonClient client, ImageRef wanted) throws InterruptedException {
    if (pull == Pull.NEVER) {
      return;
    }
    Json request =
        Json.object()
            .put("ref", wanted.familiar())
            .put(
                "policy",
                switch (pull) {
                  case ALWAYS -> "always";
                  case NEWER -> "newer";
                  case MISSING, NEVER -> "if_not_present";
                })
            .putIf("platform", Optional.ofNullable(platform).map(Platform::parse))
            .build();
    new Pulling(session, client).pull(wanted.familiar(), request, quiet);
  }
}
