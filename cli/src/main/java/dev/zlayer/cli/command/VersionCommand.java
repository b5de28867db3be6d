package dev.zlayer.cli.command;

import dev.zlayer.cli.BuildFacts;
import dev.zlayer.cli.Session;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
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
  public Integer call() {
    String java = Runtime.version().toString();
    String version = BuildFacts.version();
    if (json) {
      session
          .out()
          .print(JsonText.pretty(Json.object().put("version", version).put("java", java).build()));
    } else {
      session.out().println("zlayer " + version + " (java " + java + ")");
    }
    return 0;
  }
}
