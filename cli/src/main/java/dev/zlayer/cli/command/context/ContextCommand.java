package dev.zlayer.cli.command.context;

import dev.zlayer.cli.Locations;
import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.Contexts;
import dev.zlayer.cli.client.Contexts.Context;
import dev.zlayer.cli.command.Group;
import dev.zlayer.cli.print.Table;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Named daemons. */
public abstract class ContextCommand implements Callable<Integer> {
  protected final Session session;

  protected ContextCommand(Session session) {
    this.session = session;
  }

  public static Group group() {
    return new Group("context", "Name daemons of other machines and choose among them")
        .with("create", Create::new)
        .with("use", Use::new)
        .with("ls", ListAll::new)
        .with("show", Show::new)
        .with("rm", Remove::new);
  }

  protected final Path file() {
    return Locations.contexts(session);
  }

  protected final Contexts contexts() {
    return Contexts.read(file());
  }

  @Command(
      name = "create",
      description = "Give a daemon a name",
      footer = {
        "",
        "Examples:",
        "  zlayer context create --host ssh://ops@web1 web1",
        "  zlayer context create --host https://web2:7878 --token-file ~/web2.token web2"
      })
  static final class Create extends ContextCommand {
    @Option(
        names = "--host",
        required = true,
        paramLabel = "URL",
        description = "ssh://[USER@]HOST[:PORT], tcp://HOST:PORT, https://HOST:PORT or unix://PATH")
    private String host = "";

    @Option(names = "--tls-ca", paramLabel = "FILE", description = "Certificates to trust")
    private @Nullable String ca;

    @Option(names = "--tls-cert", paramLabel = "FILE", description = "Certificate to show")
    private @Nullable String certificate;

    @Option(names = "--tls-key", paramLabel = "FILE", description = "Its private key")
    private @Nullable String key;

    @Option(names = "--token-file", paramLabel = "FILE", description = "File with a token")
    private @Nullable String token;

    @Option(names = "--use", description = "Use it from now on")
    private boolean use;

    @Parameters(paramLabel = "NAME", description = "Name")
    private String name = "";

    Create(Session session) {
      super(session);
    }

    @Override
    public Integer call() {
      var context =
          new Context(host, absolute(ca), absolute(certificate), absolute(key), absolute(token));
      Locations.check(session, context);
      Contexts changed = contexts().with(name, context);
      (use ? changed.using(name) : changed).write(file());
      session.out().println(name);
      return 0;
    }

    private Optional<String> absolute(@Nullable String path) {
      return Optional.ofNullable(path)
          .map(text -> session.resolve(text).toAbsolutePath().normalize().toString());
    }
  }

  @Command(name = "use", description = "Choose the daemon that commands ask from now on")
  static final class Use extends ContextCommand {
    @Parameters(paramLabel = "NAME", description = "Context, or default for this machine")
    private String name = "";

    Use(Session session) {
      super(session);
    }

    @Override
    public Integer call() {
      contexts().using(name).write(file());
      session.out().println(name);
      Locations.overriding(session)
          .ifPresent(
              variable ->
                  session
                      .err()
                      .printf("zlayer: %s is set and overrides this; unset it%n", variable));
      return 0;
    }
  }

  @Command(name = "ls", description = "List contexts; * marks the one in use")
  static final class ListAll extends ContextCommand {
    @Option(names = "--json", description = "Print JSON")
    private boolean json;

    @Option(
        names = {"-q", "--quiet"},
        description = "Print names only")
    private boolean quiet;

    ListAll(Session session) {
      super(session);
    }

    @Override
    public Integer call() {
      Contexts contexts = contexts();
      String current = Locations.currentContext(session);
      if (quiet) {
        session.out().println(Contexts.DEFAULT);
        contexts.all().keySet().forEach(session.out()::println);
        return 0;
      }
      if (json) {
        List<Json> all =
            contexts.all().entrySet().stream()
                .map(entry -> view(entry.getKey(), entry.getValue(), current))
                .toList();
        session.out().print(JsonText.pretty(Json.of(all)));
        return 0;
      }
      var table = new Table("NAME", "CURRENT", "HOST");
      table.row(
          Contexts.DEFAULT,
          mark(Contexts.DEFAULT, current),
          "unix://" + Locations.localSocket(session));
      contexts.all().forEach((name, one) -> table.row(name, mark(name, current), one.host()));
      session.out().print(table);
      return 0;
    }

    private static String mark(String name, String current) {
      return name.equals(current) ? "*" : "";
    }

    private static Json view(String name, Context context, String current) {
      var view = Json.object().put("name", name).put("current", name.equals(current));
      context.json().members().forEach(view::put);
      return view.build();
    }
  }

  @Command(name = "show", description = "Show a context, or which one is in use")
  static final class Show extends ContextCommand {
    @Parameters(arity = "0..1", paramLabel = "NAME", description = "Context (default: in use)")
    private @Nullable String name;

    Show(Session session) {
      super(session);
    }

    @Override
    public Integer call() {
      String shown = name == null ? Locations.currentContext(session) : name;
      Optional<Context> context = contexts().find(shown);
      var view = Json.object().put("name", shown);
      context
          .map(Context::json)
          .orElseGet(
              () -> Json.object().put("host", "unix://" + Locations.localSocket(session)).build())
          .members()
          .forEach(view::put);
      session.out().print(JsonText.pretty(view.build()));
      return 0;
    }
  }

  @Command(name = "rm", description = "Remove contexts; the daemons are not touched")
  static final class Remove extends ContextCommand {
    @Option(
        names = {"-f", "--force"},
        description = "Also the one in use; the daemon of this machine is used then")
    private boolean force;

    @Parameters(arity = "1..*", paramLabel = "NAME", description = "Contexts")
    private List<String> names = List.of();

    Remove(Session session) {
      super(session);
    }

    @Override
    public Integer call() {
      Contexts contexts = contexts();
      for (String name : names) {
        if (!force && contexts.current().equals(Optional.of(name))) {
          throw new AgentException.Conflict(
              "context '%s' is in use: choose another with 'zlayer context use', or --force"
                  .formatted(name));
        }
        contexts = contexts.without(name);
      }
      contexts.write(file());
      names.forEach(session.out()::println);
      return 0;
    }
  }
}
