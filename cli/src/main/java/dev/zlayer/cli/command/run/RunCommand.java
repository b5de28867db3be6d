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
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "run",
    description = "Run one container without a deployment file, with Docker's flags",
    footer = {
      "",
      "Examples:",
      "  zlayer run --rm -it alpine sh",
      "  zlayer run -d --name web -p 8080:80 -v site:/usr/share/nginx/html:ro nginx",
      "  zlayer run --rm -v \"$PWD\":/src -w /src --memory 1g --cpus 2 maven mvn verify",
      "",
      "In the foreground, exits with the container's exit code; ^C is forwarded, ^P^Q detaches",
      "from a terminal. With --detach, prints the container's name. Exits with 127 when the",
      "program is not in the image and with 126 when it cannot be executed, as a shell does.",
      "Starts a daemon in the background when none is running."
    })
public final class RunCommand extends ClientCommand implements OptionHints {
  enum Pull {
    ALWAYS,
    MISSING,
    NEWER,
    NEVER
  }

  /** So long the daemon leaves an ended one to us, who read its output and remove it. */
  private static final String LINGER = "30s";

  /** After so long without a start the daemon takes it that nobody is here any more. */
  private static final String START_WITHIN = "30s";

  /**
   * How far a slow reader of the output, such as a compressor, may be behind before the oldest is
   * lost. What nobody waits for has the usual limit.
   */
  private static final long FOREGROUND_LOG = 3L << 30;

  @Option(
      names = {"-d", "--detach"},
      description = "Run in the background")
  private boolean detach;

  @Option(
      names = {"-i", "--interactive"},
      description = "Keep standard input open")
  private boolean interactive;

  @Option(
      names = {"-t", "--tty"},
      description = "Allocate a terminal")
  private boolean tty;

  @Option(names = "--rm", description = "Remove the container when it exits")
  private boolean remove;

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

  @Parameters(index = "0", paramLabel = "IMAGE", description = "Image reference")
  private String image = "";

  @Parameters(index = "1..*", paramLabel = "ARG", description = "Command and arguments")
  private List<String> arguments = List.of();

  public RunCommand(Session session) {
    super(session);
  }

  @Override
  public Optional<String> advice(String typed) {
    return RefusedFlags.advice(typed);
  }

  @Override
  protected boolean streams() {
    return !detach;
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    if (tty && !detach && !session.keyboard()) {
      throw new AgentException.InvalidSpec("standard input is not a terminal; omit -t");
    }
    if (idFile != null && Files.exists(session.resolve(idFile))) {
      throw new AgentException.InvalidSpec(
          "--cidfile '%s' already exists; remove it or choose another file".formatted(idFile));
    }
    Json body = body();
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
    String called = made.at("name").string().orElse(id);
    if (idFile != null) {
      Files.writeString(session.resolve(idFile), id, StandardOpenOption.CREATE_NEW);
    }
    if (detach) {
      print(called);
      return 0;
    }
    var foreground = new Foreground(session, client, reconnecting(client), id, called, remove);
    return interactive || tty ? foreground.attached(tty) : foreground.watched();
  }

  /** What the daemon is asked for: the keys of a service, and a few more. */
  Json body() {
    Json.Builder body =
        Json.object()
            .putIf("name", Optional.ofNullable(name))
            .put("pull", pull == Pull.NEVER ? "never" : "if_not_present")
            .put("start", detach)
            .put("rm", remove)
            .putIf("rm_after", Optional.of(LINGER).filter(_ -> remove && !detach))
            .putIf("start_within", Optional.of(START_WITHIN).filter(_ -> remove && !detach))
            .put("directory", session.directory().toAbsolutePath().toString())
            .put("image", ImageRef.parse(image).familiar())
            .putIf(
                "logs",
                Optional.of(Json.object().put("max_size_bytes", FOREGROUND_LOG).build())
                    .filter(_ -> !detach))
            .put("tty", tty)
            .put("stdin_open", interactive)
            .putIf("tty_size", size())
            .putIf("platform", Optional.ofNullable(platform).map(RunCommand::platform));
    process.into(body, session, arguments);
    resources.into(body);
    network.into(body);
    storage.into(body, session);
    security.into(body);
    return body.build();
  }

  private Optional<Json> size() {
    return session
        .screen()
        .size()
        .filter(_ -> tty && !detach)
        .map(size -> Json.object().put("rows", size.rows()).put("columns", size.columns()).build());
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
