package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.Session;
import dev.zlayer.daemon.Serve;
import dev.zlayer.daemon.config.ConfigReader;
import dev.zlayer.daemon.config.Configured;
import dev.zlayer.spec.bind.Shape;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;

/**
 * The daemon in the foreground. Its flags are the keys of the configuration, so there is one list
 * of them.
 */
public final class ServeCommand implements Callable<Integer> {
  private static final String CONFIG = "--config";

  private final Session session;
  private final CommandSpec spec;

  private ServeCommand(Session session) {
    this.session = session;
    this.spec = CommandSpec.wrapWithoutInspection(this);
  }

  public static CommandLine of(Session session) {
    var command = new ServeCommand(session);
    CommandSpec spec = command.spec.name("serve");
    spec.usageMessage()
        .description("Run the daemon in the foreground; ^C stops it, containers keep running")
        .footer(
            "",
            "Every setting is also a key of the configuration file (/etc/zlayer/zlayer.yml) and",
            "an environment variable (ZLAYER_DATA_DIR for --data-dir). Flags override variables,",
            "variables override the file. 'zlayer daemon start' runs it in the background.");
    spec.addOption(
        OptionSpec.builder(CONFIG)
            .paramLabel("FILE")
            .type(String.class)
            .description("Configuration file")
            .build());
    for (Shape.Field field : ConfigReader.fields()) {
      spec.addOption(
          OptionSpec.builder(ConfigReader.flag(field.name()))
              .paramLabel("VALUE")
              .type(String.class)
              .description(field.doc())
              .build());
    }
    return new CommandLine(spec);
  }

  @Override
  public Integer call() throws InterruptedException {
    Configured configured = Configurations.read(session, file(), flags());
    var serve = new Serve();
    try (var _ = session.screen().onSignal("TERM", serve::stop);
        var _ = session.screen().onSignal("INT", serve::stop)) {
      serve.run(configured, session.env(), session.err());
    }
    return 0;
  }

  private java.util.Optional<String> file() {
    return java.util.Optional.ofNullable(spec.commandLine().getParseResult())
        .map(parsed -> parsed.matchedOptionValue(CONFIG, ""))
        .filter(value -> !value.isEmpty());
  }

  private Map<String, String> flags() {
    var flags = new LinkedHashMap<String, String>();
    CommandLine.ParseResult parsed = spec.commandLine().getParseResult();
    for (Shape.Field field : ConfigReader.fields()) {
      String flag = ConfigReader.flag(field.name());
      if (parsed.hasMatchedOption(flag)) {
        flags.put(field.name(), parsed.matchedOptionValue(flag, ""));
      }
    }
    return flags;
  }
}
