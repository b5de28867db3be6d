package dev.zlayer.daemon.rest;

import dev.zlayer.container.ContainerId;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.metrics.MetricHistory;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;

/** What the node, services and containers have used over the last day. */
public final class HistoryResource implements Resource {
  private static final Duration HEARTBEAT = Duration.ofSeconds(15);

  /** Readings of many containers come together. */
  private static final Duration APART = Duration.ofMillis(500);

  private static final String SPAN = "1h";
  private static final String SPANS =
      "How far back: 1h in steps of 20 s, 6h of 2 min, 24h of 10 min (default: 1h).";
  private static final String FOLLOW =
      "One line with all of it, then one with the last steps for every reading.";

  private final ContainerRuntime runtime;
  private final ContainerLookup references;
  private final Optional<MetricHistory> history;
  private final InstantSource clock;
  private final Pauses pauses;

  /** What reads the present state. */
  @FunctionalInterface
  private interface Reading {
    MetricHistory.View read(MetricHistory history) throws InterruptedException;
  }

  /**
   * @param history none where no Linux containers run
   */
  public HistoryResource(
      ContainerRuntime runtime,
      Optional<MetricHistory> history,
      InstantSource clock,
      Pauses pauses) {
    this.runtime = runtime;
    this.references = new ContainerLookup(runtime);
    this.history = history;
    this.clock = clock;
    this.pauses = pauses;
  }

  @Override
  public String title() {
    return "History of figures";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.view(
                "/stats/history",
                "Show what the node, or the containers of a deployment together, used.",
                this::all)
            .with("deployment", "The containers of this deployment instead of the node.")
            .with("service", "Only those of this service.")
            .with("span", SPANS)
            .withFlag("follow", FOLLOW)
            .gives(MetricHistory.View.class)
            .streams(MetricHistory.View.class, "With follow."),
        Route.view(
                "/containers/{ref}/stats/history",
                "Show what one container used over the last day.",
                this::one)
            .with("span", SPANS)
            .withFlag("follow", FOLLOW)
            .gives(MetricHistory.View.class)
            .streams(MetricHistory.View.class, "With follow."));
  }

  private ApiResponse all(ApiRequest call) throws InterruptedException {
    String span = call.query("span").orElse(SPAN);
    Optional<String> deployment = call.query("deployment");
    Optional<String> service = call.query("service");
    if (deployment.isEmpty()) {
      if (service.isPresent()) {
        throw new AgentException.InvalidSpec("a service needs the deployment that it belongs to");
      }
      return answer(call, kept -> kept.node(span, clock.instant()));
    }
    String name = deployment.get() + service.map(one -> "/" + one).orElse("");
    return answer(
        call,
        kept -> kept.containers(name, members(deployment.get(), service), span, clock.instant()));
  }

  private List<ContainerId> members(String deployment, Optional<String> service) {
    return runtime.list().stream()
        .map(Container::id)
        .filter(id -> id.deployment().equals(deployment))
        .filter(id -> service.map(id.service()::equals).orElse(true))
        .toList();
  }

  private ApiResponse one(ApiRequest call) throws InterruptedException {
    String span = call.query("span").orElse(SPAN);
    Container container = references.find(call);
    ContainerId id = container.id();
    return answer(
        call,
        kept -> {
          interest(container);
          return kept.containers(id.runtimeName(), List.of(id), span, clock.instant());
        });
  }

  /** One that somebody follows is read every second. */
  private static void interest(Container container) throws InterruptedException {
    try {
      var _ = container.sample();
    } catch (AgentException _) {
      // it does not run, or its runtime has no figures
    }
  }

  private ApiResponse answer(ApiRequest call, Reading reading) throws InterruptedException {
    MetricHistory kept =
        history.orElseThrow(
            () ->
                new AgentException.Unsupported(
                    "figures are kept where Linux containers run, and none do on this node"));
    if (!call.flag("follow", false)) {
      return ApiResponse.json(ViewJson.of(reading.read(kept)));
    }
    return new ApiResponse.Lines(
        out -> {
          long since = 0;
          while (true) {
            long version = kept.version();
            MetricHistory.View view = reading.read(kept);
            out.line(ViewJson.of(view.since(since)));
            out.flush();
            since = view.time().isEmpty() ? since : view.time().getLast();
            pauses.pause(APART);
            kept.await(version, Deadline.after(HEARTBEAT));
          }
        });
  }
}
