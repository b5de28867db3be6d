package dev.zlayer.daemon.docker;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.DetachKeys;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.TerminalSize;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.json.Json;
import dev.zlayer.port.Container;
import dev.zlayer.port.ExecSession;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.random.RandomGenerator;

/** Further processes in containers: described, started and looked at in separate steps. */
final class DockerExec implements Resource {
  private static final int BUFFER = 16 << 10;

  private final DockerContainerIndex index;
  private final ExecRegistry registry;
  private final DockerAllow allow;
  private final RecentEvents events;
  private final RandomGenerator random;

  DockerExec(
      DockerContainerIndex index,
      ExecRegistry registry,
      DockerAllow allow,
      RecentEvents events,
      RandomGenerator random) {
    this.index = index;
    this.registry = registry;
    this.allow = allow;
    this.events = events;
    this.random = random;
  }

  @Override
  public String title() {
    return "Processes in containers";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.post("/containers/{name}/exec", "Describe a process to run.", this::create),
        Route.post("/exec/{id}/start", "Start it, attached or detached.", this::start),
        Route.post("/exec/{id}/resize", "Resize its terminal.", this::resize),
        Route.get("/exec/{id}/json", "Show whether it runs, or how it ended.", this::inspect));
  }

  private ApiResponse create(ApiRequest call) {
    Container container = index.enter(call.path("name"));
    Json body = RequestFields.body("POST /containers/{name}/exec", call);
    List<String> command = body.at("Cmd").strings();
    if (command.isEmpty()) {
      throw DockerError.badRequest("No exec command specified");
    }
    requireRunning(container, call.path("name"));
    boolean privileged = body.at("Privileged").bool().orElse(false);
    if (privileged) {
      allow.requirePrivileged();
    }
    boolean terminal = body.at("Tty").bool().orElse(false);
    boolean stdin = body.at("AttachStdin").bool().orElse(false);
    var spec =
        new ExecSpec(
            command,
            DockerCreate.env(body.at("Env").strings()),
            body.at("WorkingDir").string().filter(text -> !text.isEmpty()),
            body.at("User").string().filter(text -> !text.isEmpty()),
            privileged,
            terminal,
            stdin,
            size(body));
    String id = DockerContainerIndex.newId(random);
    registry.add(
        id,
        DockerContainerIndex.id(container),
        container,
        new ExecRegistry.Asked(
            spec,
            stdin,
            body.at("AttachStdout").bool().orElse(false),
            body.at("AttachStderr").bool().orElse(false),
            body.at("DetachKeys").string().filter(text -> !text.isEmpty())),
        exit ->
            events.record(
                container,
                "exec_die",
                Map.of("execID", id, "exitCode", String.valueOf(ContainerFacts.exitCode(exit)))));
    report(container, "exec_create", command, id);
    return ApiResponse.json(201, Json.object().put("Id", id).build());
  }

  private void report(Container container, String action, List<String> command, String id) {
    events.record(container, action + ": " + String.join(" ", command), Map.of("execID", id));
  }

  private static void requireRunning(Container container, String reference) {
    if (container.status() instanceof ContainerStatus.Paused) {
      throw DockerError.conflict(
          "Container %s is paused, unpause the container before exec".formatted(reference));
    }
    if (!container.status().alive()) {
      throw DockerError.conflict(
          "container %s is not running".formatted(DockerContainerIndex.id(container)));
    }
  }

  private static Optional<TerminalSize> size(Json body) {
    List<Long> size =
        body.at("ConsoleSize").items().stream().flatMap(item -> item.integer().stream()).toList();
    return size.size() == 2 && size.get(0) > 0 && size.get(1) > 0
        ? Optional.of(new TerminalSize(size.get(0).intValue(), size.get(1).intValue()))
        : Optional.empty();
  }

  private ApiResponse start(ApiRequest call) throws InterruptedException {
    ExecRegistry.Entry entry = registry.find(call.path("id"));
    Json body = RequestFields.body("POST /exec/{id}/start", call);
    requireRunning(entry.container, entry.containerId);
    ExecSpec asked = entry.asked.spec();
    ExecSpec spec =
        size(body).isPresent() && asked.terminal()
            ? new ExecSpec(
                asked.command(),
                asked.env(),
                asked.workdir(),
                asked.user(),
                asked.privileged(),
                true,
                asked.stdin(),
                size(body))
            : asked;
    ExecSession session = entry.start(spec);
    report(entry.container, "exec_start", spec.command(), entry.id);
    if (body.at("Detach").bool().orElse(false)) {
      registry.detach(entry, session);
      return new ApiResponse.Whole(200, "", new byte[0], Map.of());
    }
    // who starts it says whether there are frames, whatever the process has
    boolean raw = body.at("Tty").bool().orElse(false);
    return new ApiResponse.Hijack(
        MultiplexedStream.type(raw),
        (in, out) -> converse(entry, session, in, new MultiplexedStream(out, raw)));
  }

  /** When the client leaves, the process goes on. */
  private void converse(
      ExecRegistry.Entry entry, ExecSession session, InputStream in, MultiplexedStream out)
      throws InterruptedException {
    ExecRegistry.Asked asked = entry.asked;
    var left = new AtomicBoolean();
    boolean detached = false;
    try (var input = new TaskScope("exec-input")) {
      Thread reader = Thread.currentThread();
      if (asked.stdin()) {
        Optional<DetachKeys> keys =
            asked.spec().terminal()
                ? Optional.of(DetachKeys.parse(asked.detachKeys().orElse(DetachKeys.USUAL)))
                : Optional.empty();
        input.fork(
            () -> {
              if (DockerStreams.feed(in, session.stdin(), keys)) {
                left.set(true);
                reader.interrupt();
              }
              return true;
            });
      }
      try (var output = new TaskScope("exec-output")) {
        output.fork(() -> copy(session.stdout(), MultiplexedStream.STDOUT, asked.stdout(), out));
        output.fork(() -> copy(session.stderr(), MultiplexedStream.STDERR, asked.stderr(), out));
        output.join();
      }
      entry.end(session.await(Deadline.none()));
    } catch (InterruptedException e) {
      if (!left.get()) {
        session.close();
        throw e;
      }
      detached = true;
    }
    if (detached) {
      events.record(entry.container, "exec_detach", Map.of("execID", entry.id));
      registry.detach(entry, session);
    } else {
      session.close();
    }
  }

  /** Reads to the end, also when nobody is there any more to be told. */
  private static boolean copy(InputStream from, int stream, boolean wanted, MultiplexedStream out) {
    var buffer = new byte[BUFFER];
    boolean listening = wanted;
    try {
      for (int count = from.read(buffer); count >= 0; count = from.read(buffer)) {
        if (listening) {
          try {
            out.write(stream, buffer, count);
          } catch (IOException _) {
            listening = false;
          }
        }
      }
    } catch (IOException _) {
      // the process has ended
    }
    return true;
  }

  private ApiResponse resize(ApiRequest call) {
    ExecRegistry.Entry entry = registry.find(call.path("id"));
    int rows = DockerQuery.number(call, "h").orElse(0);
    int columns = DockerQuery.number(call, "w").orElse(0);
    ExecSession session =
        entry
            .session()
            .filter(_ -> !entry.over())
            .orElseThrow(() -> DockerError.failed("exec process is not started"));
    if (rows > 0 && columns > 0) {
      session.resize(rows, columns);
    }
    return new ApiResponse.Whole(200, "", new byte[0], Map.of());
  }

  private ApiResponse inspect(ApiRequest call) {
    ExecRegistry.Entry entry = registry.find(call.path("id"));
    ExecRegistry.Asked asked = entry.asked;
    List<String> command = asked.spec().command();
    return ApiResponse.json(
        Json.object()
            .put("ID", entry.id)
            .put("Running", entry.running())
            .put("ExitCode", entry.exit().map(ContainerFacts::exitCode).orElse(null))
            .put(
                "ProcessConfig",
                Json.object()
                    .put("tty", asked.spec().terminal())
                    .put("entrypoint", command.getFirst())
                    .put("arguments", command.subList(1, command.size()))
                    .put("privileged", asked.spec().privileged())
                    .put("user", asked.spec().user().orElse(""))
                    .build())
            .put("OpenStdin", asked.stdin())
            .put("OpenStderr", asked.stderr())
            .put("OpenStdout", asked.stdout())
            .put("CanRemove", entry.over())
            .put("ContainerID", entry.containerId)
            .put("DetachKeys", asked.detachKeys().orElse(""))
            .put("Pid", 0)
            .build());
  }
}
