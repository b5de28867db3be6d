package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Locations;
import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.cli.terminal.Terminal;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.credential.DockerConfig;
import dev.zlayer.json.Json;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.RegistryAuth;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "login",
    description = "Log in to a registry, and keep the credentials as Docker does",
    footer = {
      "",
      "Examples:",
      "  echo \"$TOKEN\" | zlayer login registry.example.com -u ci --password-stdin",
      "",
      "The credentials are checked first. They go to the credential helper that Docker's",
      "configuration file names for the registry, else into that file."
    })
public final class LoginCommand extends ClientCommand {
  private static final int BACKSPACE = 127;
  private static final int INTERRUPT = 3;
  private static final int END = 4;
  private static final int LONGEST = 64 << 10;

  @Option(
      names = {"-u", "--username"},
      paramLabel = "USER",
      description = "User name (default: asked for)")
  private @Nullable String user;

  @Option(
      names = {"-p", "--password"},
      paramLabel = "PASSWORD",
      description = "Password; other users of this host can see it, use --password-stdin instead")
  private @Nullable String password;

  @Option(names = "--password-stdin", description = "Read the password from standard input")
  private boolean passwordFromInput;

  @Parameters(
      paramLabel = "HOST",
      arity = "0..1",
      description = "Registry as host[:port] (default: docker.io)")
  private String host = ImageRef.DEFAULT_HOST;

  public LoginCommand(Session session) {
    super(session);
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    String registry = host(host);
    var auth = new RegistryAuth.Basic(user(), password());
    client.post(
        "/registries/login",
        Query.NONE,
        Json.object().put("host", registry).put("auth", RegistryCredentials.json(auth)).build());
    String where = new DockerConfig(Locations.dockerConfig(session)).store(registry, auth);
    print("login succeeded: credentials of " + registry + " are kept by " + where);
    return 0;
  }

  /** In the spelling of image references. */
  static String host(String typed) {
    String bare = typed.replaceFirst("^https?://", "").replaceFirst("/(v[12]/?)?$", "");
    if (bare.equals("registry-1.docker.io")) {
      return ImageRef.DEFAULT_HOST;
    }
    if (!bare.contains(".") && !bare.contains(":") && !bare.equals("localhost")) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a registry: write host[:port]".formatted(typed));
    }
    return ImageRef.parse(bare + "/any").host();
  }

  private String user() throws IOException {
    if (user != null) {
      return user;
    }
    if (!session.keyboard()) {
      throw new AgentException.InvalidSpec("cannot ask for a user name without a terminal; use -u");
    }
    session.err().print("user name: ");
    session.err().flush();
    return line();
  }

  private String password() throws IOException {
    if (password != null && passwordFromInput) {
      throw new AgentException.InvalidSpec("give either --password or --password-stdin");
    }
    if (password != null) {
      tell(
          "zlayer: warning: --password can be seen by other users of this host; use"
              + " --password-stdin");
      return password;
    }
    if (passwordFromInput) {
      return new String(session.in().readNBytes(LONGEST), StandardCharsets.UTF_8).stripTrailing();
    }
    if (!session.keyboard()) {
      throw new AgentException.InvalidSpec(
          "cannot ask for a password without a terminal; use --password-stdin");
    }
    session.err().print("password: ");
    session.err().flush();
    try (Terminal.Undo _ = session.screen().raw()) {
      return line();
    } finally {
      session.err().println();
    }
  }

  /** Up to the end of the line, also where the terminal does not edit it. */
  private String line() throws IOException {
    var typed = new ByteArrayOutputStream();
    for (int key = session.in().read(); key >= 0 && key != '\n' && key != '\r'; ) {
      if (key == INTERRUPT || key == END) {
        throw new AgentException.InvalidSpec("login canceled");
      }
      if (key == BACKSPACE || key == '\b') {
        byte[] before = typed.toByteArray();
        typed.reset();
        typed.write(before, 0, Math.max(0, before.length - 1));
      } else if (typed.size() < LONGEST) {
        typed.write(key);
      }
      key = session.in().read();
    }
    return typed.toString(StandardCharsets.UTF_8);
  }
}
