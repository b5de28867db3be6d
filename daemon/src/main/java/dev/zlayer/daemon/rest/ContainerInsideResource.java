package dev.zlayer.daemon.rest;

import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.FileChange;
import dev.zlayer.container.PathStat;
import dev.zlayer.container.ProcessTable;
import dev.zlayer.container.TerminalSize;
import dev.zlayer.daemon.http.AccessDenied;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.stream.ExecLines;
import dev.zlayer.daemon.rest.stream.Streams;
import dev.zlayer.daemon.rest.view.ContainerView;
import dev.zlayer.daemon.standalone.StandaloneContainers;
import dev.zlayer.engine.secret.Redaction;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.Archivable;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.Exportable;
import dev.zlayer.port.ProcessListing;
import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.value.ByteSize;
import dev.zlayer.tar.LimitedOutput;
import java.time.InstantSource;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/** What is inside containers: processes, files, output. */
public final class ContainerInsideResource implements Resource {
  private static final String STAT = "X-Path-Stat";

  /** Names of variables that people give to secrets. */
  private static final Pattern SECRETIVE =
      Pattern.compile(
          "PASS|PWD$|SECRET|TOKEN|CREDENTIAL|PRIVATE|AUTH$|KEY$|(^|_)(API_?)?KEY",
          Pattern.CASE_INSENSITIVE);

  private final ContainerLookup references;
  private final StandaloneContainers standalone;
  private final Supplier<Redaction> redaction;
  private final InstantSource clock;

  /** A process to run. */
  @Doc("A further process; absent parts are those of the container.")
  public record Exec(
      @Doc("Program and arguments.") List<String> command,
      @Doc("Variables over the container's.") Map<String, String> env,
      @Doc("Working directory.") Optional<String> workingDirectory,
      @Doc("User name or uid, optionally with :group.") Optional<String> user,
      @Doc("Grant all capabilities.") @Default("false") boolean privileged) {}

  /** A variable of its main process. */
  @Doc("A variable of its main process.")
  record Variable(
      String name,
      @Doc("Absent when the name is that of a secret; values of known secrets are replaced.")
          Optional<String> value) {}

  /** Output of a process, and its exit as the last line. */
  record ExecLine(
      Optional<String> stream,
      Optional<String> text,
      Optional<String> bytes,
      Optional<String> type,
      Optional<Integer> code) {}

  public ContainerInsideResource(
      ContainerRuntime runtime,
      StandaloneContainers standalone,
      Supplier<Redaction> redaction,
      InstantSource clock) {
    this.references = new ContainerLookup(runtime);
    this.standalone = standalone;
    this.redaction = redaction;
    this.clock = clock;
  }

  @Override
  public String title() {
    return "Inside containers";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        LogResponse.parameters(
            Route.view("/containers/{ref}/logs", "Show its output.", this::logs)),
        Route.post("/containers/{ref}/exec", "Run a command and stream its output.", this::exec)
            .takes(Exec.class)
            .streams(ExecLine.class, "Output, and at last type exit with the code."),
        Route.get("/containers/{ref}/exec/ws", "Run a command interactively.", this::execSocket)
            .withRequired("command", "Program and arguments, one parameter each.")
            .withFlag("tty", "Allocate a terminal.")
            .withNumber("rows", "Initial rows of the terminal; with columns.")
            .withNumber("columns", "Initial columns of the terminal; with rows.")
            .withFlag("stdin", "Forward standard input (default: true).")
            .with("user", "User name or uid, optionally with :group.")
            .with("working_directory", "Working directory.")
            .with("env", "NAME=value, one parameter each.")
            .withFlag("privileged", "Grant all capabilities.")
            .upgrades("Frames as described under terminals."),
        Route.get("/containers/{ref}/attach/ws", "Attach to its main process.", this::attach)
            .withFlag("stdin", "Forward standard input (default: true).")
            .withFlag("logs", "Send earlier output first.")
            .withFlag("start", "Start the container first.")
            .upgrades("Frames as described under terminals."),
        Route.view("/containers/{ref}/top", "List its processes.", this::top)
            .gives(ProcessTable.class),
        Route.view("/containers/{ref}/changes", "List changes against its image.", this::changes)
            .givesMany(FileChange.class),
        Route.get(
                "/containers/{ref}/environment",
                "List the variables that it was created with, without secrets.",
                this::environment)
            .givesMany(Variable.class),
        Route.view("/containers/{ref}/ports", "List its published ports.", this::ports)
            .givesMany(ContainerView.PortView.class),
        Route.get("/containers/{ref}/archive", "Copy files out.", this::copyOut)
            .withRequired("path", "File or directory in the container.")
            .with("max_size", "Size limit of the copy, e.g. 10Gi (default: 100Gi).")
            .givesType(ApiRequest.TAR, "The file or directory."),
        Route.get("/containers/{ref}/export", "Export its root file system.", this::export)
            .with("max_size", "Size limit of the archive, e.g. 10Gi (default: 100Gi).")
            .givesType(ApiRequest.TAR, "Its files, without volumes and other mounts."),
        Route.head("/containers/{ref}/archive", "Show what is at a path.", this::stat)
            .withRequired("path", "File or directory in the container.")
            .givesType(ApiRequest.TAR, "Facts as base64 JSON in " + STAT + "."),
        Route.put("/containers/{ref}/archive", "Copy files in.", this::copyIn)
            .withRequired("path", "Existing directory in the container.")
            .takes(ApiRequest.TAR, "Archive to extract there.")
            .givesNothing());
  }

  private ApiResponse logs(ApiRequest call) {
    Container container = container(call);
    return LogResponse.answer(
        call,
        redaction,
        () -> standalone.logs(container, LogResponse.query(call, clock.instant())));
  }

  private ApiResponse exec(ApiRequest call) throws InterruptedException {
    Container container = container(call);
    Exec wanted = call.body(Exec.class);
    requireCommand(wanted.command());
    requireAllRights(call, wanted.privileged());
    return ExecLines.run(
        container,
        new ExecSpec(
            wanted.command(),
            wanted.env(),
            wanted.workingDirectory(),
            wanted.user(),
            wanted.privileged(),
            false,
            false,
            Optional.empty()));
  }

  private static void requireCommand(List<String> command) {
    if (command.isEmpty()) {
      throw new AgentException.InvalidSpec("the command is empty, write the program to run");
    }
  }

  /** All capabilities reach beyond the container, and so beyond a token of one deployment. */
  private static void requireAllRights(ApiRequest call, boolean privileged) {
    if (privileged && call.deployment().isPresent()) {
      throw AccessDenied.forbidden(
          "the token is for deployment '%s' only and runs no privileged processes"
              .formatted(call.deployment().get()));
    }
  }

  private ApiResponse execSocket(ApiRequest call) {
    Container container = container(call);
    List<String> command = call.queries("command");
    requireCommand(command);
    requireAllRights(call, call.flag("privileged", false));
    boolean terminal = call.flag("tty", false);
    return Streams.exec(
        call,
        container,
        new ExecSpec(
            command,
            env(call),
            call.query("working_directory"),
            call.query("user"),
            call.flag("privileged", false),
            terminal,
            terminal || call.flag("stdin", true),
            size(call)));
  }

  private static Optional<TerminalSize> size(ApiRequest call) {
    OptionalInt rows = call.number("rows");
    OptionalInt columns = call.number("columns");
    if (rows.isPresent() != columns.isPresent()) {
      throw new AgentException.InvalidSpec("a size needs both rows and columns");
    }
    return rows.isPresent()
        ? Optional.of(new TerminalSize(rows.getAsInt(), columns.getAsInt()))
        : Optional.empty();
  }

  private static Map<String, String> env(ApiRequest call) {
    var env = new LinkedHashMap<String, String>();
    for (String pair : call.queries("env")) {
      int equals = pair.indexOf('=');
      if (equals < 1) {
        throw new AgentException.InvalidSpec("'%s' is not NAME=value".formatted(pair));
      }
      env.put(pair.substring(0, equals), pair.substring(equals + 1));
    }
    return env;
  }

  private ApiResponse attach(ApiRequest call) {
    Container container = container(call);
    boolean start = call.flag("start", false);
    return Streams.attach(
        call,
        container,
        () -> {
          if (start) {
            standalone.start(container);
          }
        },
        call.flag("logs", false),
        query -> standalone.logs(container, query));
  }

  private ApiResponse top(ApiRequest call) {
    return ApiResponse.json(
        ViewJson.of(
            OptionalInterfaces.of(container(call), ProcessListing.class, "looked into")
                .processes()));
  }

  private ApiResponse changes(ApiRequest call) {
    return ApiResponse.json(ViewJson.of(files(call).changes()));
  }

  /** Whoever may run a process in it could read them there; secrets are hidden all the same. */
  private ApiResponse environment(ApiRequest call) {
    Redaction hidden = redaction.get();
    return ApiResponse.json(
        ViewJson.of(
            container(call).spec().process().env().entrySet().stream()
                .map(
                    variable ->
                        new Variable(
                            variable.getKey(),
                            Optional.of(hidden.text(variable.getValue()))
                                .filter(_ -> !SECRETIVE.matcher(variable.getKey()).find())))
                .toList()));
  }

  private ApiResponse ports(ApiRequest call) {
    return ApiResponse.json(ViewJson.of(ContainerView.PortView.of(container(call).ports())));
  }

  private ApiResponse copyOut(ApiRequest call) {
    Archivable files = files(call);
    String path = call.required("path");
    ByteSize limit = call.query("max_size").map(ByteSize::parse).orElse(LimitedOutput.DEFAULT);
    return new ApiResponse.Bytes(
        ApiRequest.TAR,
        Map.of(STAT, header(files.stat(path))),
        out -> files.copyOut(path, new LimitedOutput(out, limit, "raise max_size")));
  }

  private ApiResponse export(ApiRequest call) {
    Exportable root = OptionalInterfaces.of(container(call), Exportable.class, "exported");
    ByteSize limit = call.query("max_size").map(ByteSize::parse).orElse(LimitedOutput.DEFAULT);
    return new ApiResponse.Bytes(
        ApiRequest.TAR,
        Map.of(),
        out -> root.export(new LimitedOutput(out, limit, "raise max_size")));
  }

  private ApiResponse stat(ApiRequest call) {
    PathStat stat = files(call).stat(call.required("path"));
    return new ApiResponse.Whole(200, ApiRequest.TAR, new byte[0], Map.of(STAT, header(stat)));
  }

  private static String header(PathStat stat) {
    return Base64.getEncoder().encodeToString(JsonText.bytes(ViewJson.of(stat)));
  }

  private ApiResponse copyIn(ApiRequest call) throws InterruptedException {
    files(call).copyIn(call.required("path"), call.body());
    return ApiResponse.done();
  }

  private Archivable files(ApiRequest call) {
    return OptionalInterfaces.of(container(call), Archivable.class, "copied from or to");
  }

  private Container container(ApiRequest call) {
    return references.find(call);
  }
}
