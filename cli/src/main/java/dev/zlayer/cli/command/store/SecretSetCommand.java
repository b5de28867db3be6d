package dev.zlayer.cli.command.store;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.command.ClientCommand;
import dev.zlayer.cli.command.OptionHints;
import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "set",
    description = "Store a secret; services that use it are updated",
    footer = {
      "",
      "Examples:",
      "  openssl rand -hex 24 | zlayer secret set db-password",
      "  zlayer secret set tls-key --file key.pem --keep-newline",
      "  zlayer secret set @web/token --deployment shop < token.txt",
      "",
      "A value is never an argument: every user of the host can see those."
    })
public final class SecretSetCommand extends ClientCommand implements OptionHints {
  private static final int MOST_BYTES = 512 << 10;

  @Option(
      names = {"-f", "--file"},
      paramLabel = "FILE",
      description = "File that holds the value (default: standard input)")
  private @Nullable String file;

  @Option(names = "--keep-newline", description = "Keep the final line break")
  private boolean keepNewline;

  @Option(
      names = "--deployment",
      paramLabel = "NAME",
      description = "Store it for this deployment only")
  private @Nullable String deployment;

  @Option(
      names = "--local",
      description = "In a cluster: store it for deployments of this node alone")
  private boolean local;

  @Parameters(
      paramLabel = "NAME",
      description = "Secret name; @service/name for one service of the deployment")
  private String name = "";

  public SecretSetCommand(Session session) {
    super(session);
  }

  /** The value itself is not repeated. */
  @Override
  public Optional<String> advice(String typed) {
    return typed.startsWith("-")
        ? Optional.empty()
        : Optional.of(
            "a secret value cannot be an argument, other users could see it; use standard input or"
                + " --file");
  }

  @Override
  protected int run(DaemonClient client) throws InterruptedException, IOException {
    SecretPath secret = SecretPath.parse(name, deployment);
    client.send("PUT", secret.path(), secret.query(local), "application/octet-stream", value());
    return 0;
  }

  private byte[] value() throws IOException {
    if (file == null && session.keyboard()) {
      tell("enter the value, then press ^D");
    }
    try (InputStream in =
        file == null ? session.in() : Files.newInputStream(session.resolve(file))) {
      byte[] bytes = in.readNBytes(MOST_BYTES + 1);
      if (bytes.length > MOST_BYTES) {
        throw new AgentException.InvalidSpec("a secret can be at most 512 KiB");
      }
      return keepNewline ? bytes : withoutLineEnd(bytes);
    } catch (NoSuchFileException _) {
      throw new AgentException.NotFound("file '" + file + "'", "there is no such file");
    }
  }

  private static byte[] withoutLineEnd(byte[] bytes) {
    int end = bytes.length;
    if (end > 0 && bytes[end - 1] == '\n') {
      end--;
    }
    if (end > 0 && bytes[end - 1] == '\r') {
      end--;
    }
    return java.util.Arrays.copyOf(bytes, end);
  }
}
