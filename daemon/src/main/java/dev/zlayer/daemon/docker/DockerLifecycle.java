package dev.zlayer.daemon.docker;

import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.Signal;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.daemon.standalone.StandaloneContainers;
import dev.zlayer.daemon.standalone.StartSignals;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.Container;
import dev.zlayer.runtime.cni.PortTaken;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** Starting, ending, pausing, and waiting for the end. */
final class DockerLifecycle implements Resource {
  private static final Duration KILL_LIMIT = Duration.ofSeconds(10);

  /** A client that does not read its output holds up nobody who waits for longer. */
  private static final Duration OUTPUT_LIMIT = Duration.ofSeconds(2);

  private static final ApiResponse UNCHANGED =
      new ApiResponse.Whole(304, "", new byte[0], Map.of());

  private final DockerContainerIndex index;
  private final StandaloneContainers standalone;
  private final OwnedContainers owned;
  private final RecentEvents events;

  DockerLifecycle(
      DockerContainerIndex index,
      StandaloneContainers standalone,
      OwnedContainers owned,
      RecentEvents events) {
    this.index = index;
    this.standalone = standalone;
    this.owned = owned;
    this.events = events;
  }

  @Override
  public String title() {
    return "Lives of containers";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.post("/containers/{name}/start", "Start it.", this::start),
        Route.post("/containers/{name}/stop", "Stop it.", this::stop),
        Route.post("/containers/{name}/restart", "Stop and start it.", this::restart),
        Route.post("/containers/{name}/kill", "Send a signal.", this::kill),
        Route.post("/containers/{name}/pause", "Freeze its processes.", this::pause),
        Route.post("/containers/{name}/unpause", "Resume its processes.", this::unpause),
        Route.post("/containers/{name}/wait", "Wait until it has ended.", this::await));
  }

  private Container container(ApiRequest call) {
    return index.find(call.path("name"));
  }

  private ApiResponse start(ApiRequest call) throws InterruptedException {
    Container container = container(call);
    if (!CreateFields.zero(DockerQuery.body(call))) {
      throw DockerError.badRequest(
          "starting container with non-empty request body was deprecated since API v1.22 and"
              + " removed in v1.24");
    }
    owned.require(container, "start");
    if (container.status() instanceof ContainerStatus.Paused) {
      throw DockerError.conflict("cannot start a paused container, try unpause instead");
    }
    if (container.status().alive()) {
      return UNCHANGED;
    }
    try {
      begin(container);
    } catch (AgentException.StartFailed | DockerError e) {
      if (standalone.removedAfterExit(container)) {
        standalone.remove(container, true); // as after any other end
      }
      throw e;
    }
    return ApiResponse.done();
  }

  /** Ports are published with the start; that one of them is taken has words of its own. */
  private void begin(Container container) throws InterruptedException {
    published(container, () -> standalone.start(container));
  }

  /** Starts something. */
  @FunctionalInterface
  private interface Starting {
    void run() throws InterruptedException;
  }

  private static void published(Container container, Starting starting)
      throws InterruptedException {
    try {
      starting.run();
    } catch (AgentException.Network e) {
      throw e.getCause() instanceof PortTaken taken ? unpublished(container, taken) : e;
    }
  }

  private static DockerError unpublished(Container container, PortTaken taken) {
    String port = "%s:%d".formatted(taken.ip().getHostAddress(), taken.port());
    return DockerError.failed(
        "failed to set up container networking: driver failed programming external connectivity"
            + " on endpoint %s (%s): %s"
                .formatted(
                    ContainerNames.of(container),
                    DockerContainerIndex.id(container),
                    taken.published()
                        ? "Bind for %s failed: port is already allocated".formatted(port)
                        : "failed to bind host port %s/%s: address already in use"
                            .formatted(port, taken.protocol().name().toLowerCase(Locale.ROOT))));
  }

  private ApiResponse stop(ApiRequest call) {
    Container container = container(call);
    owned.require(container, "stop");
    // one that waits for its restart is stopped as well
    if (!container.status().alive() && !standalone.unattended(container)) {
      return UNCHANGED;
    }
    return new ApiResponse.Later(
        () -> {
          end(call, container);
          return ApiResponse.done();
        });
  }

  private void end(ApiRequest call, Container container) throws InterruptedException {
    Optional<Signal> signal = signal(call);
    reportSignal(container, signal);
    Optional<Outcome> _ = standalone.stop(container, signal, grace(call, container));
  }

  private static Optional<Signal> signal(ApiRequest call) {
    return DockerQuery.text(call, "signal").map(Signal::parse);
  }

  private void reportSignal(Container container, Optional<Signal> given) {
    Signal first =
        given.or(() -> container.spec().stop().signal()).orElseGet(() -> Signal.parse("TERM"));
    events.record(container, "kill", Map.of("signal", String.valueOf(first.number())));
  }

  /** In seconds; a negative number is for as long as it takes. */
  private static Duration grace(ApiRequest call, Container container) {
    OptionalInt seconds = DockerQuery.number(call, "t");
    return seconds.isEmpty()
        ? container.spec().stop().grace()
        : Duration.ofSeconds(
            seconds.getAsInt() < 0 ? Integer.MAX_VALUE / 1000 : seconds.getAsInt());
  }

  private ApiResponse restart(ApiRequest call) {
    Container container = container(call);
    owned.require(container, "restart");
    return new ApiResponse.Later(
        () -> {
          if (container.status().alive()) {
            Optional<Signal> signal = signal(call);
            reportSignal(container, signal);
            published(
                container, () -> standalone.restart(container, signal, grace(call, container)));
          } else {
            begin(container);
          }
          events.record(container, "restart", Map.of());
          return ApiResponse.done();
        });
  }

  private ApiResponse kill(ApiRequest call) throws InterruptedException {
    Container container = container(call);
    Signal signal =
        DockerQuery.text(call, "signal")
            .map(
                text -> {
                  try {
                    return Signal.parse(text);
                  } catch (AgentException.InvalidSpec _) {
                    throw DockerError.badRequest(
                        "cannot kill container: %s: invalid signal: %s"
                            .formatted(call.path("name"), text));
                  }
                })
            .orElse(Signal.KILL);
    if (!container.status().alive()) {
      throw DockerError.conflict(
          "cannot kill container: %s: container %s is not running"
              .formatted(call.path("name"), DockerContainerIndex.id(container)));
    }
    if (signal.equals(Signal.KILL)) {
      owned.require(container, "stop");
    }
    standalone.kill(container, signal);
    if (signal.equals(Signal.KILL)) {
      Outcome _ = container.await(WaitCondition.NOT_RUNNING, Deadline.after(KILL_LIMIT));
    }
    return ApiResponse.done();
  }

  private ApiResponse pause(ApiRequest call) throws InterruptedException {
    Container container = container(call);
    String id = DockerContainerIndex.id(container);
    if (container.status() instanceof ContainerStatus.Paused) {
      throw DockerError.conflict("Container %s is already paused".formatted(id));
    }
    if (!container.status().alive()) {
      throw DockerError.conflict("container %s is not running".formatted(id));
    }
    standalone.actions().pause(container);
    return ApiResponse.done();
  }

  private ApiResponse unpause(ApiRequest call) throws InterruptedException {
    Container container = container(call);
    if (!(container.status() instanceof ContainerStatus.Paused)) {
      throw DockerError.failed(
          "Container %s is not paused".formatted(DockerContainerIndex.id(container)));
    }
    standalone.actions().unpause(container);
    return ApiResponse.done();
  }

  /**
   * Waits; the head of the answer is sent at once, since clients start the container only when they
   * know that somebody waits for it.
   */
  private ApiResponse await(ApiRequest call) {
    Container container = container(call);
    String condition = DockerQuery.text(call, "condition").orElse("not-running");
    Waiting waiting =
        switch (condition) {
          case "not-running" -> () -> container.await(WaitCondition.NOT_RUNNING, Deadline.none());
          case "removed" -> () -> container.await(WaitCondition.REMOVED, Deadline.none());
          case "next-exit" -> nextExit(container);
          default -> throw DockerError.badRequest("invalid condition: \"%s\"".formatted(condition));
        };
    return new ApiResponse.Bytes(
        ApiRequest.JSON,
        Map.of(),
        out -> {
          Outcome outcome = waiting.await();
          // whoever waits reads then what another connection has brought, as dockerd lets them
          if (outcome.startedAt().isPresent()) {
            standalone.readers().awaitAttached(container.id(), Deadline.after(OUTPUT_LIMIT));
          }
          out.write(
              JsonText.bytes(
                  Json.object()
                      .put(
                          "StatusCode",
                          outcome.startedAt().isEmpty()
                                  && outcome.status()
                                      instanceof dev.zlayer.container.ExitStatus.Unknown
                              ? 0
                              : ContainerFacts.exitCode(outcome.status()))
                      .build()));
          out.write('\n');
        });
  }

  /** Waits for an end. */
  @FunctionalInterface
  private interface Waiting {
    Outcome await() throws InterruptedException;
  }

  /** The end of this run, or of the next one when there is none; begins now. */
  private Waiting nextExit(Container container) {
    StartSignals.Next next = standalone.starts().next(container.id());
    boolean alive = container.status().alive();
    return () -> {
      try (next) {
        if (!alive) {
          boolean _ = next.await();
        }
        return container.await(WaitCondition.NOT_RUNNING, Deadline.none());
      }
    };
  }
}
