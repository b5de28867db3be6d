package dev.zlayer.cli.command;

import dev.zlayer.cli.Session;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

@Command(name = "version", description = "Show the version")
public final class VersionCommand implements Callable<Integer> {
  private final Session session;

  @Option(names = "--json", description = "Print JSON")
  private boolean json;

  public VersionCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws IOException {
    String java = Runtime.version().toString();
    String version = ownVersion();
    if (json) {
      session
          .out()
          .print(JsonText.pretty(Json.object().put("version", version).put("java", java).build()));
    } else {
      session.out().printf("zlayer %s (java %s)%n", version, java);
    }
    return 0;
  }

  private static String ownVersion() throws IOException {
    var properties = new Properties();
    try (InputStream in =
        VersionCommand.class.getResourceAsStream("/dev/zlayer/cli/version.properties")) {
      if (in != null) {
        properties.load(in);
      }
    }
    return properties.getProperty("version", "unknown");
  }
}
