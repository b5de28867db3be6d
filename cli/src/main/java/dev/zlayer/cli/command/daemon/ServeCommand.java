package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.Session;
import dev.zlayer.daemon.Serve;
import dev.zlayer.daemon.config.ConfigReader;
import dev.zlayer.daemon.config.Configured;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.spec.bind.Shape;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
    CommandLine.ParseResult parsed = spec.commandLine().getParseResult();
    var given = new LinkedHashMap<String, String>();
    for (OptionSpec option : spec.options()) {
      if (parsed.hasMatchedOption(option.longestName())) {
        given.put(option.longestName(), parsed.matchedOptionValue(option.longestName(), ""));
      }
    }
    return serve(session, given);
  }

  /**
   * The same without a grammar, which takes longer to build than a daemon may take to start;
   * nothing where there is something to explain.
   *
   * @param words what follows the verb
   */
  public static Optional<Callable<Integer>> plain(Session session, List<String> words) {
    return values(words).map(given -> () -> serve(session, given));
  }

  /** The flags with their values; nothing when this is for the grammar to decide. */
  static Optional<Map<String, String>> values(List<String> words) {
    var given = new LinkedHashMap<String, String>();
    for (int i = 0; i < words.size(); i++) {
      String word = words.get(i);
      int equals = word.indexOf('=');
      String flag = equals < 0 ? word : word.substring(0, equals);
      if (equals < 0) {
        i++;
      }
      String value =
          equals >= 0 ? word.substring(equals + 1) : i < words.size() ? words.get(i) : "";
      boolean plain = !value.isEmpty() && !value.startsWith("-") && !value.startsWith("@");
      if (!plain || !known(flag) || given.put(flag, value) != null) {
        return Optional.empty();
      }
    }
    return Optional.of(given);
  }

  private static boolean known(String flag) {
    return flag.equals(CONFIG)
        || ConfigReader.fields().stream()
            .anyMatch(field -> ConfigReader.flag(field.name()).equals(flag));
  }

  private static int serve(Session session, Map<String, String> given) throws InterruptedException {
    var flags = new LinkedHashMap<String, String>();
    for (Shape.Field field : ConfigReader.fields()) {
      String value = given.get(ConfigReader.flag(field.name()));
      if (value != null) {
        flags.put(field.name(), value);
      }
    }
    Optional<String> file = Optional.ofNullable(given.get(CONFIG)).filter(name -> !name.isEmpty());
    Configured configured = Configurations.read(session, file, flags);
    if (Rootless.outside()) {
      goRootless(session, configured.config().directories());
    }
    var serve = new Serve();
    try (var _ = Rootless.supervise(session, configured.config().directories());
        var _ = session.screen().onSignal("TERM", serve::stop);
        var _ = session.screen().onSignal("INT", serve::stop)) {
      serve.run(configured, session.env(), session.err());
    }
    return 0;
  }

  /** Continues as root of namespaces of this user, unless something for that is missing. */
  private static void goRootless(Session session, DataDir dirs) throws InterruptedException {
    List<String> missing = new ArrayList<>(Rootless.host(session, dirs).missing());
    if (missing.isEmpty()) {
      try {
        Rootless.enter(session, dirs);
      } catch (AgentException.Configuration e) {
        missing.add(String.valueOf(e.getMessage()));
      }
    }
    session
        .err()
        .println("zlayer: no Linux containers without root: " + String.join("; ", missing));
  }
}
