package dev.zlayer.daemon.rest;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.Signal;
import dev.zlayer.container.TerminalSize;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Repetition;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.view.ContainerView;
import dev.zlayer.daemon.rest.view.InspectView;
import dev.zlayer.daemon.rest.view.OutcomeView;
import dev.zlayer.daemon.standalone.ContainerHealth;
import dev.zlayer.daemon.standalone.StandaloneContainers;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.engine.secret.Redaction;
import dev.zlayer.engine.translate.ServiceTranslator;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.PullRequest;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Threads;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** Containers and their lives. */
public final class ContainersResource implements Resource {
  /** Labels that tell for which request a container was made. */
  private static final String REQUEST = "com.zlayer.request";

  private static final String FINGERPRINT = "com.zlayer.request.fingerprint";

  /** One that is to be started and removed at once is not left behind by a crash in between. */
  private static final Duration START_LIMIT = Duration.ofMinutes(1);

  private final ContainerRuntime runtime;
  private final StandaloneContainers standalone;
  private final ServiceTranslator translator;
  private final Supplier<Map<ContainerId, ContainerView.Replica>> replicas;
  private final Predicate<String> deployments;
  private final ContainerLookup references;
  private final ForegroundRun foreground;

  /** Whether there was something to remove. */
  record Removed(boolean removed) {}

  /** What took effect only partly. */
  record Updated(List<String> warnings) {}

  /** What was made. */
  record Made(String id, String name) {}

  /**
   * @param replicas of services, with what those know of them
   * @param redaction hides secrets in what they print
   * @param deployments whether there is a deployment of this name; containers of one whose record
   *     cannot be read have nobody else who could remove them
   */
  public ContainersResource(
      ContainerRuntime runtime,
      StandaloneContainers standalone,
      ServiceTranslator translator,
      Supplier<Map<ContainerId, ContainerView.Replica>> replicas,
      Supplier<Redaction> redaction,
      Predicate<String> deployments) {
    this.deployments = deployments;
    this.runtime = runtime;
    this.standalone = standalone;
    this.translator = translator;
    this.replicas = replicas;
    this.references = new ContainerLookup(runtime);
    this.foreground = new ForegroundRun(standalone, redaction);
  }

  @Override
  public String title() {
    return "Containers";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.view("/containers", "List containers.", this::list)
            .withFlag("all", "Also containers that are not running.")
            .with("deployment", "Only this deployment.")
            .with("service", "Only this service or job.")
            .with("path", "Only those that events are about, one parameter each.")
            .givesMany(ContainerView.class),
        Route.post("/containers", "Create a container without a deployment.", this::create)
            .repeatableByKey()
            .takes(CreateContainer.class)
            .creates(Made.class),
        Route.post(
                "/run", "Create a container, start it, and stream its output and end.", this::run)
            .takes(CreateContainer.class)
            .givesType(
                FrameWriter.TYPE,
                "Frames as of logs, and those with flag 128, which hold JSON: type created with id"
                    + " and name; type started; at last type exit with the keys of wait. With rm"
                    + " the container is removed by then, or not_removed says why not, and type"
                    + " ended has the same keys before that; rm_after is for callers that"
                    + " disconnect before."),
        Route.view("/containers/{ref}", "Show one container in full.", this::inspect)
            .gives(InspectView.class),
        Route.delete("/containers/{ref}", "Remove a container; idempotent.", this::remove)
            .freeing()
            .withFlag(
                "force",
                "Kill it if it is running; a container that does not exist is not an error.")
            .withFlag("volumes", "Its anonymous volumes too, which are removed in any case.")
            .gives(Removed.class)
            .givesNothing(),
        Route.post(
                "/containers/{ref}/start",
                "Start a container; no effect if it is running.",
                this::start)
            .givesNothing(),
        Route.post(
                "/containers/{ref}/stop",
                "Stop a container: its stop signal, then SIGKILL.",
                this::stop)
            .freeing()
            .with("grace", "Time before SIGKILL (default: the container's own).")
            .gives(OutcomeView.class),
        Route.post("/containers/{ref}/restart", "Stop and start.", this::restart)
            .with("grace", "Time before SIGKILL.")
            .givesNothing(),
        Route.post("/containers/{ref}/kill", "Send a signal.", this::kill)
            .freeing()
            .with("signal", "Name or number (default: KILL).")
            .givesNothing(),
        Route.post("/containers/{ref}/pause", "Pause its processes.", this::pause).givesNothing(),
        Route.post("/containers/{ref}/unpause", "Resume its processes.", this::unpause)
            .givesNothing(),
        Route.post("/containers/{ref}/rename", "Rename a container.", this::rename)
            .withRequired("name", "The new name.")
            .givesNothing(),
        Route.post("/containers/{ref}/update", "Change limits and restart policy.", this::update)
            .takes(UpdateContainer.class)
            .gives(Updated.class),
        Route.post(
                "/containers/{ref}/release",
                "End the delay of rm_after once its output was read.",
                this::release)
            .givesNothing(),
        Route.post("/containers/{ref}/wait", "Wait until it exits.", this::await)
            .with("condition", "not-running (default), next-exit or removed.")
            .with("timeout", "Time to wait (default: no limit).")
            .gives(OutcomeView.class));
  }

  private ApiResponse list(ApiRequest call) {
    boolean all = call.flag("all", false);
    Optional<String> deployment = call.query("deployment");
    Optional<String> service = call.query("service");
    Set<String> paths = Set.copyOf(call.queries("path"));
    Map<ContainerId, ContainerView.Replica> known = replicas.get();
    return ViewText.answer(
        runtime.list().stream()
            .filter(container -> all || container.status().alive())
            .filter(of -> deployment.map(of.id().deployment()::equals).orElse(true))
            .filter(of -> service.map(of.id().service()::equals).orElse(true))
            .filter(of -> paths.isEmpty() || paths.contains(of.id().path()))
            .flatMap(this::details)
            .sorted(Comparator.comparing(ContainerDetails::createdAt).reversed())
            .map(one -> ContainerView.of(one, replica(one, known)))
            .toList());
  }

  private Stream<ContainerDetails> details(Container container) {
    try {
      return Stream.of(current(container.inspect()));
    } catch (AgentException.NotFound _) {
      return Stream.empty(); // removed while we looked
    }
  }

  private Optional<ContainerView.Replica> replica(
      ContainerDetails details, Map<ContainerId, ContainerView.Replica> known) {
    return standalone
        .health(details.id())
        .map(
            health ->
                new ContainerView.Replica(
                    Optional.of(health.state()), List.of(), details.restarts()))
        .or(() -> Optional.ofNullable(known.get(details.id())));
  }

  /** With the restart policy that it has now. */
  private ContainerDetails current(ContainerDetails details) {
    return StandaloneContainers.standalone(details.id())
        ? details.withLabels(standalone.labels(details))
        : details;
  }

  private ApiResponse create(ApiRequest call) throws InterruptedException {
    CreateContainer wanted = call.body(CreateContainer.class);
    Optional<Container> earlier = call.repetition().flatMap(this::madeFor);
    Container made = earlier.isPresent() ? earlier.get() : make(wanted, call.repetition());
    if (wanted.start() && made.status() instanceof ContainerStatus.Created) {
      startOrRemove(made);
    }
    return ApiResponse.json(
        201, ViewJson.of(new Made(made.id().runtimeName(), made.id().service())));
  }

  private ApiResponse run(ApiRequest call) throws InterruptedException {
    CreateContainer wanted = call.body(CreateContainer.class);
    if (!wanted.start()) {
      throw new AgentException.InvalidSpec("start: run starts the container, remove the key");
    }
    return foreground.answer(call.id(), make(wanted, Optional.empty()), wanted.rm());
  }

  /** What a daemon made for the same request that was killed before it could answer. */
  private Optional<Container> madeFor(Repetition repetition) {
    Optional<Container> made =
        runtime.list().stream()
            .filter(container -> StandaloneContainers.standalone(container.id()))
            .filter(of -> repetition.key().equals(of.spec().labels().get(REQUEST)))
            .filter(of -> details(of).anyMatch(at -> at.createdAt().isAfter(repetition.oldest())))
            .findFirst();
    if (made.isPresent()
        && !repetition.fingerprint().equals(made.get().spec().labels().get(FINGERPRINT))) {
      throw new AgentException.Conflict(
          "the key of this request was used for another request: choose another key");
    }
    return made;
  }

  private Container make(CreateContainer wanted, Optional<Repetition> repetition)
      throws InterruptedException {
    String name = wanted.name().orElse("container");
    ContainerSpec translated =
        translator.translate(
            ContainerId.STANDALONE, name, wanted.container(), Path.of(wanted.directory()));
    ContainerSpec spec = marked(sized(translated, wanted.ttySize()), repetition);
    runtime
        .images()
        .pull(
            new PullRequest(
                spec.image(),
                wanted.pull().orElse(wanted.container().image().pullPolicy()),
                spec.platform(),
                Optional.empty()),
            _ -> {});
    return standalone.create(
        spec,
        new StandaloneContainers.CreateRequest(
            wanted.name(),
            wanted.container().lifecycle().restartPolicy(),
            Optional.of(wanted.rmAfter()).filter(_ -> wanted.rm()),
            wanted
                .startWithin()
                .or(() -> Optional.of(START_LIMIT).filter(_ -> wanted.rm() && wanted.start())),
            ContainerHealth.of(wanted.container())));
  }

  private static ContainerSpec marked(ContainerSpec spec, Optional<Repetition> repetition) {
    if (repetition.isEmpty()) {
      return spec;
    }
    var labels = new HashMap<>(spec.labels());
    labels.put(REQUEST, repetition.get().key());
    labels.put(FINGERPRINT, repetition.get().fingerprint());
    return spec.withLabels(labels);
  }

  private static ContainerSpec sized(ContainerSpec spec, Optional<CreateContainer.TtySize> size) {
    if (size.isEmpty()) {
      return spec;
    }
    if (!spec.process().terminal()) {
      throw new AgentException.InvalidSpec("tty_size needs a terminal: add tty: true");
    }
    return spec.withProcess(
        spec.process().withTerminal(new TerminalSize(size.get().rows(), size.get().columns())));
  }

  /** One that was never seen running is of no use to whoever asked for one that runs. */
  private void startOrRemove(Container made) throws InterruptedException {
    try {
      standalone.start(made);
    } catch (AgentException | InterruptedException e) {
      Threads.complete(() -> standalone.remove(made, true));
      throw e;
    }
  }

  private ApiResponse inspect(ApiRequest call) {
    ContainerDetails details = current(container(call).inspect());
    return ApiResponse.json(
        ViewJson.of(
            InspectView.of(
                details, replica(details, replicas.get()), standalone.health(details.id()))));
  }

  private ApiResponse remove(ApiRequest call) throws InterruptedException {
    Container container;
    try {
      container = container(call);
    } catch (AgentException.NotFound e) {
      if (call.flag("force", false)) {
        return ApiResponse.json(ViewJson.of(new Removed(false)));
      }
      throw e;
    }
    if (container.status().alive()) {
      requireOwn(container, "down " + container.id().deployment());
    }
    standalone.remove(container, call.flag("force", false));
    return ApiResponse.done();
  }

  private ApiResponse start(ApiRequest call) throws InterruptedException {
    Container container = container(call);
    requireOwn(container, "start " + service(container));
    standalone.start(container);
    return ApiResponse.done();
  }

  /** What a deployment has made is kept as the deployment says: it would undo what we do here. */
  private void requireOwn(Container container, String instead) {
    ContainerId id = container.id();
    boolean owned = id.deployment().equals(JobKey.NONE) || deployments.test(id.deployment());
    if (!StandaloneContainers.standalone(id) && owned) {
      throw new AgentException.Conflict(
          "container %s belongs to %s, which decides whether it runs: use 'zlayer %s'"
              .formatted(
                  id,
                  id.deployment().equals(JobKey.NONE)
                      ? "job '%s'".formatted(id.service())
                      : "deployment '%s'".formatted(id.deployment()),
                  id.role().equals(ContainerId.JOB_ROLE) ? "job cancel" : instead));
    }
  }

  private static String service(Container container) {
    return container.id().deployment() + "/" + container.id().service();
  }

  private ApiResponse stop(ApiRequest call) {
    Container container = container(call);
    requireOwn(container, "stop " + service(container));
    return new ApiResponse.Later(
        () ->
            standalone
                .stop(container, Optional.empty(), grace(call, container))
                .map(OutcomeView::of)
                .map(view -> ApiResponse.json(ViewJson.of(view)))
                .orElseGet(ApiResponse::done));
  }

  private ApiResponse restart(ApiRequest call) {
    Container container = container(call);
    requireOwn(container, "restart " + service(container));
    return new ApiResponse.Later(
        () -> {
          standalone.restart(container, Optional.empty(), grace(call, container));
          return ApiResponse.done();
        });
  }

  private static Duration grace(ApiRequest call, Container container) {
    return call.duration("grace").orElseGet(() -> container.spec().stop().grace());
  }

  private ApiResponse kill(ApiRequest call) throws InterruptedException {
    standalone
        .actions()
        .signal(container(call), call.query("signal").map(Signal::parse).orElse(Signal.KILL));
    return ApiResponse.done();
  }

  private ApiResponse pause(ApiRequest call) throws InterruptedException {
    standalone.actions().pause(container(call));
    return ApiResponse.done();
  }

  private ApiResponse unpause(ApiRequest call) throws InterruptedException {
    standalone.actions().unpause(container(call));
    return ApiResponse.done();
  }

  private ApiResponse rename(ApiRequest call) throws InterruptedException {
    standalone.rename(container(call), call.required("name"));
    return ApiResponse.done();
  }

  private ApiResponse update(ApiRequest call) throws InterruptedException {
    Container container = container(call);
    ContainerId id = container.id();
    if (!StandaloneContainers.standalone(id)) {
      throw new AgentException.Conflict(
          "container %s is as the file of '%s' says: change that and apply it with 'zlayer up'"
              .formatted(id, id.deployment()));
    }
    UpdateContainer wanted = call.body(UpdateContainer.class);
    return ApiResponse.json(
        ViewJson.of(
            new Updated(
                standalone.update(
                    container,
                    wanted.limits(container.spec().resources()),
                    wanted.restartPolicy()))));
  }

  private ApiResponse release(ApiRequest call) {
    standalone.release(container(call));
    return ApiResponse.done();
  }

  private ApiResponse await(ApiRequest call) {
    Container container = container(call);
    WaitCondition condition =
        switch (call.query("condition").orElse("not-running")) {
          case "not-running" -> WaitCondition.NOT_RUNNING;
          case "next-exit" -> WaitCondition.NEXT_EXIT;
          case "removed" -> WaitCondition.REMOVED;
          case String other ->
              throw new AgentException.InvalidSpec(
                  "the condition is not-running, next-exit or removed, not '%s'".formatted(other));
        };
    Deadline deadline = call.duration("timeout").map(Deadline::after).orElse(Deadline.none());
    return new ApiResponse.Later(
        () -> ApiResponse.json(ViewJson.of(OutcomeView.of(container.await(condition, deadline)))));
  }

  private Container container(ApiRequest call) {
    return references.find(call);
  }
}
