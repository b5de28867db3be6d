package dev.zlayer.daemon.docker;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.DetachKeys;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogRecord;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.daemon.standalone.StandaloneContainers;
import dev.zlayer.daemon.standalone.StartSignals;
import dev.zlayer.engine.secret.RedactingLogReader;
import dev.zlayer.engine.secret.Redaction;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.Attachable;
import dev.zlayer.port.Container;
import dev.zlayer.port.ExecSession;
import dev.zlayer.port.LogReader;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.TaskScope;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Output and input of containers. Output comes from the log in every case, so that nothing is
 * missing and nothing comes twice, however slowly a client reads.
 */
final class DockerStreams implements Resource {
  private static final int BUFFER = 64 << 10;

  /**
   * docker-py reads the stream past the buffer that it read the answer with: what comes together
   * with the answer is lost there. Docker is as late with what the log has.
   */
  private static final Duration AFTER_ANSWER = Duration.ofMillis(100);

  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSS'Z'").withZone(ZoneOffset.UTC);

  private final DockerContainerIndex index;
  private final StandaloneContainers standalone;
  private final Supplier<Redaction> redaction;
  private final RecentEvents events;
  private final InstantSource clock;

  DockerStreams(
      DockerContainerIndex index,
      StandaloneContainers standalone,
      Supplier<Redaction> redaction,
      RecentEvents events,
      InstantSource clock) {
    this.index = index;
    this.standalone = standalone;
    this.redaction = redaction;
    this.events = events;
    this.clock = clock;
  }

  @Override
  public String title() {
    return "Output and input";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.get("/containers/{name}/logs", "Show the output of a container.", this::logs),
        Route.post("/containers/{name}/attach", "Attach to its main process.", this::attach),
        Route.get("/containers/{name}/attach/ws", "Attach by a WebSocket.", this::attachSocket)
            .upgrades("Frames of bytes in both directions."),
        Route.post("/containers/{name}/resize", "Resize its terminal.", this::resize));
  }

  private ApiResponse logs(ApiRequest call) {
    Container container = index.find(call.path("name"));
    boolean stdout = DockerQuery.flag(call, "stdout");
    boolean stderr = DockerQuery.flag(call, "stderr");
    if (!stdout && !stderr) {
      throw DockerError.badRequest("Bad parameters: you must choose at least one stream");
    }
    if (unread(container)) {
      throw DockerError.notImplemented("configured logging driver does not support reading");
    }
    var query =
        new LogQuery(
            tail(call),
            DockerQuery.time(call, "since"),
            DockerQuery.time(call, "until"),
            stdout,
            stderr,
            DockerQuery.flag(call, "follow"));
    boolean terminal = container.spec().process().terminal();
    boolean timestamps = DockerQuery.flag(call, "timestamps");
    boolean details = DockerQuery.flag(call, "details");
    LogReader reader = new RedactingLogReader(standalone.logs(container, query), redaction);
    return new ApiResponse.Bytes(
        MultiplexedStream.type(terminal),
        Map.of(),
        ApiResponse.BytesWriter.closing(
            reader::close,
            out ->
                copy(
                    reader,
                    new MultiplexedStream(new BufferedOutputStream(out, BUFFER), terminal),
                    timestamps,
                    details ? " " : "")));
  }

  /** Whether its log is for clients that are attached only. */
  private static boolean unread(Container container) {
    String request = container.spec().labels().getOrDefault(DockerCreate.REQUEST, "{}");
    return JsonText.parse(request)
        .at("HostConfig")
        .at("LogConfig")
        .at("Type")
        .string()
        .filter(HostOptions.NO_LOG::equals)
        .isPresent();
  }

  private static OptionalInt tail(ApiRequest call) {
    Optional<String> tail = DockerQuery.text(call, "tail").filter(text -> !text.equals("all"));
    try {
      int lines = tail.map(Integer::parseInt).orElse(-1);
      return lines < 0 ? OptionalInt.empty() : OptionalInt.of(lines);
    } catch (NumberFormatException _) {
      return OptionalInt.empty(); // as Docker reads it
    }
  }

  /** A large log goes in large pieces, yet nobody who follows waits for what is there. */
  private static void copy(
      LogReader reader, MultiplexedStream out, boolean timestamps, String prefix)
      throws IOException, InterruptedException {
    Runnable waiting =
        () -> {
          try {
            out.flush();
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        };
    Set<LogRecord.Stream> begun = EnumSet.noneOf(LogRecord.Stream.class);
    try {
      for (var next = reader.next(waiting); next.isPresent(); next = reader.next(waiting)) {
        LogRecord record = next.get();
        boolean begins = begun.add(record.stream());
        if (!record.partial()) {
          begun.remove(record.stream());
        }
        String head = begins ? (timestamps ? TIME.format(record.time()) + " " : "") + prefix : "";
        write(out, record, head.getBytes(StandardCharsets.US_ASCII));
      }
      out.flush();
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  private static void write(MultiplexedStream out, LogRecord record, byte[] head)
      throws IOException {
    byte[] bytes = Arrays.copyOf(head, head.length + record.length());
    System.arraycopy(record.bytes(), 0, bytes, head.length, record.bytes().length);
    if (!record.partial()) {
      bytes[bytes.length - 1] = '\n';
    }
    int stream =
        record.stream() == LogRecord.Stream.STDOUT
            ? MultiplexedStream.STDOUT
            : MultiplexedStream.STDERR;
    out.write(stream, bytes, bytes.length);
  }

  /**
   * Joins the streams of a container, which need not run yet: clients attach first, so that they
   * miss nothing, and then start it.
   */
  private ApiResponse attach(ApiRequest call) {
    Container container = index.enter(call.path("name"));
    boolean terminal = container.spec().process().terminal();
    if (call.header("Content-Length").filter(length -> !length.equals("0")).isPresent()) {
      byte[] _ = call.wholeBody(); // parameters a second time: input begins after them
    }
    return new ApiResponse.Hijack(
        MultiplexedStream.type(terminal), conversation(call, container, terminal));
  }

  private ApiResponse attachSocket(ApiRequest call) {
    Container container = index.enter(call.path("name"));
    return new ApiResponse.Socket(new AttachSocket(conversation(call, container, true)));
  }

  private ApiResponse.Conversation conversation(ApiRequest call, Container container, boolean raw) {
    boolean stdin = DockerQuery.flag(call, "stdin") && container.spec().process().stdin();
    boolean logs = DockerQuery.flag(call, "logs");
    boolean stream = DockerQuery.flag(call, "stream");
    boolean stdout = DockerQuery.flag(call, "stdout");
    boolean stderr = DockerQuery.flag(call, "stderr");
    DetachKeys keys =
        DetachKeys.parse(DockerQuery.text(call, "detachKeys").orElse(DetachKeys.USUAL));
    if (container.status() instanceof ContainerStatus.Paused) {
      throw DockerError.conflict(
          "container %s is paused, unpause the container before attach"
              .formatted(DockerContainerIndex.id(container)));
    }
    Optional<Instant> since = logs ? Optional.empty() : Optional.of(clock.instant());
    var query = new LogQuery(OptionalInt.empty(), since, Optional.empty(), stdout, stderr, stream);
    // from here on, so that a start which follows the answer is not missed
    StartSignals.Next next = standalone.starts().next(container.id());
    events.record(container, "attach", Map.of());
    var hold = standalone.readers().attach(container.id());
    return new ApiResponse.Conversation() {
      @Override
      public void run(InputStream in, OutputStream out) throws IOException, InterruptedException {
        try (hold;
            next) {
          var frames = new MultiplexedStream(out, raw);
          if (logs) {
            Pauses.REAL.pause(AFTER_ANSWER);
          }
          if (!stream) {
            replay(container, query, frames);
          } else if (container.status().alive() || next.await()) {
            Optional<InputStream> typed = stdin ? Optional.of(in) : Optional.empty();
            converse(container, query, frames, typed, keys);
          }
        }
      }

      @Override
      public boolean endsWithClient() {
        return true;
      }

      @Override
      public void abandon() {
        next.close();
        hold.close();
      }
    };
  }

  private void replay(Container container, LogQuery query, MultiplexedStream out)
      throws IOException, InterruptedException {
    try (LogReader reader = new RedactingLogReader(standalone.logs(container, query), redaction)) {
      copy(reader, out, false, "");
    } catch (AgentException.NotFound _) {
      // removed before its output was read
    }
  }

  private void converse(
      Container container,
      LogQuery query,
      MultiplexedStream out,
      Optional<InputStream> in,
      DetachKeys keys)
      throws IOException, InterruptedException {
    Optional<ExecSession> joined = in.isEmpty() ? Optional.empty() : joined(container);
    if (joined.isEmpty()) {
      replay(container, query, out);
      return;
    }
    boolean terminal = container.spec().process().terminal();
    try (ExecSession session = joined.get();
        var scope = new TaskScope("attach")) {
      Thread reader = Thread.currentThread();
      scope.fork(
          () -> {
            Optional<DetachKeys> leaving = terminal ? Optional.of(keys) : Optional.empty();
            if (feed(in.orElseThrow(), session.stdin(), leaving)) {
              events.record(container, "detach", Map.of());
              reader.interrupt();
            }
            return true;
          });
      replay(container, query, out);
    }
  }

  /** Empty when it has ended already; its output is still there. */
  private static Optional<ExecSession> joined(Container container) throws InterruptedException {
    try {
      return Optional.of(join(container));
    } catch (AgentException.Conflict | AgentException.Internal _) {
      return Optional.empty();
    }
  }

  private static ExecSession join(Container container) throws InterruptedException {
    if (container instanceof Attachable attachable) {
      return attachable.attach();
    }
    throw new AgentException.Unsupported(
        "containers of runtime '%s' cannot be attached to"
            .formatted(container.inspect().runtime()));
  }

  /** Passes on what a client types until it ends; true when it pressed the keys to leave. */
  static boolean feed(InputStream in, OutputStream to, Optional<DetachKeys> keys) {
    var buffer = new byte[BUFFER];
    try {
      for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
        if (keys.isPresent()) {
          DetachKeys.Passed passed = keys.get().pass(buffer, count);
          to.write(passed.bytes());
          if (passed.detach()) {
            to.flush();
            return true;
          }
        } else {
          to.write(buffer, 0, count);
        }
        to.flush();
      }
      to.close(); // its direction only: output goes on
    } catch (IOException _) {
      // the process reads no more, or the client has gone; output shows which
    }
    return false;
  }

  private ApiResponse resize(ApiRequest call) throws InterruptedException {
    Container container = index.find(call.path("name"));
    int rows = DockerQuery.number(call, "h").orElse(0);
    int columns = DockerQuery.number(call, "w").orElse(0);
    if (!container.status().alive()) {
      throw DockerError.conflict(
          "container %s is not running".formatted(DockerContainerIndex.id(container)));
    }
    if (container.spec().process().terminal() && rows > 0 && columns > 0) {
      try (ExecSession session = join(container)) {
        session.resize(rows, columns);
      }
    }
    events.record(
        container,
        "resize",
        Map.of("height", String.valueOf(rows), "width", String.valueOf(columns)));
    return new ApiResponse.Whole(200, "", new byte[0], Map.of());
  }
}
