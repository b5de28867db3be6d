package dev.zlayer.cli.command.run;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.DaemonNotRunning;
import dev.zlayer.cli.client.DaemonProblem;
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
  record Made(String id, String name) {
    static Made of(Json made) {
      String id = made.at("id").string().orElseThrow();
      return new Made(id, made.at("name").string().orElse(id));
    }
  }

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
  @Nullable String name;

  @Option(
      names = "--pull",
      paramLabel = "WHEN",
      description = "Pull the image: always, missing, newer or never (default: missing)")
  Pull pull = Pull.MISSING;

  @Option(
      names = "--platform",
      paramLabel = "OS/ARCH",
      description = "Platform of a multi-platform image")
  @Nullable String platform;

  @Option(
      names = "--cidfile",
      paramLabel = "FILE",
      description = "Write the container id to this file")
  @Nullable String idFile;

  @Option(
      names = {"-q", "--quiet"},
      description = "Do not show pull progress")
  boolean quiet;

  @Mixin ProcessFlags process = new ProcessFlags();
  @Mixin ResourceFlags resources = new ResourceFlags();
  @Mixin NetworkFlags network = new NetworkFlags();
  @Mixin StorageFlags storage = new StorageFlags();
  @Mixin SecurityFlags security = new SecurityFlags();
  @Mixin HealthFlags health = new HealthFlags();

  @Parameters(index = "0", paramLabel = "IMAGE", description = "Image reference")
  String image = "";

  @Parameters(index = "1..*", paramLabel = "ARG", description = "Command and arguments")
  List<String> arguments = List.of();

  NewContainerCommand(Session session) {
    super(session);
  }

  @Override
  public final Optional<String> advice(String typed) {
    return RefusedFlags.advice(typed);
  }

  /** One try to have a container made. */
  @FunctionalInterface
  interface Attempt<T> {
    T with(Json body) throws InterruptedException, IOException;
  }

  /** Makes it as the daemon is asked to; starts a daemon when there is none. */
  final Made make(DaemonClient client, Json body) throws InterruptedException, IOException {
    return asked(
        client, body, wanted -> noted(Made.of(client.post("/containers", Query.NONE, wanted))));
  }

  /**
   * Nearly always daemon and image are there: only when one of them turns out to be missing it is
   * brought. Asking for them first would take longer than the rest.
   */
  final <T> T asked(DaemonClient client, Json body, Attempt<T> attempt)
      throws InterruptedException, IOException {
    if (idFile != null && Files.exists(session.resolve(idFile))) {
      throw new AgentException.InvalidSpec(
          "--cidfile '%s' already exists; remove it or choose another file".formatted(idFile));
    }
    // an image of another platform may be there under the same name
    if (pull == Pull.MISSING && platform == null) {
      try {
        return attempt.with(with(body, "pull", "never"));
      } catch (DaemonNotRunning _) {
        // nothing was asked
      } catch (DaemonProblem problem) {
        if (!problem.notFound() && !problem.configuration()) {
          throw problem; // it has to do neither with a missing image nor with a damaged one
        }
      }
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
    return attempt.with(body);
  }

  /** With another value of one key. */
  static Json with(Json body, String key, Object value) {
    var other = Json.object();
    body.members().forEach(other::put);
    return other.put(key, value).build();
  }

  final Made noted(Made made) throws IOException {
    if (idFile != null) {
      Files.writeString(session.resolve(idFile), made.id(), StandardOpenOption.CREATE_NEW);
    }
    return made;
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
