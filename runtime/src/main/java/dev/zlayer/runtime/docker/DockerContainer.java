package dev.zlayer.runtime.docker;

import dev.zlayer.container.ContainerDetails;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.FileChange;
import dev.zlayer.container.LogQuery;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.PathStat;
import dev.zlayer.container.ProcessTable;
import dev.zlayer.container.Resources;
import dev.zlayer.container.Signal;
import dev.zlayer.container.Stats;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.port.Archivable;
import dev.zlayer.port.Attachable;
import dev.zlayer.port.Container;
import dev.zlayer.port.ExecSession;
import dev.zlayer.port.LogLines;
import dev.zlayer.port.LogReader;
import dev.zlayer.port.Pausable;
import dev.zlayer.port.ProcessListing;
import dev.zlayer.port.Renamable;
import dev.zlayer.port.Updatable;
import dev.zlayer.task.Deadline;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** A handle to one container of the engine, by the engine's own id, which is never used again. */
final class DockerContainer
    implements Container, Archivable, Attachable, Pausable, ProcessListing, Renamable, Updatable {
  private static final int LAST_LINES = 10;

  private final DockerApi api;
  private final String dockerId;
  private final ContainerId id;
  private final ContainerSpec spec;
  private final Optional<String> listedName;
  private final DockerContainerState state;
  private final DockerStop ending;

  DockerContainer(
      DockerApi api,
      String dockerId,
      ContainerId id,
      ContainerSpec spec,
      Optional<String> listedName,
      DockerContainerState state) {
    this.listedName = listedName;
    this.api = api;
    this.dockerId = dockerId;
    this.id = id;
    this.spec = spec;
    this.state = state;
    this.ending = new DockerStop(api, this, state);
  }

  String dockerId() {
    return dockerId;
  }

  @Override
  public ContainerId id() {
    return id;
  }

  @Override
  public ContainerSpec spec() {
    return spec;
  }

  /** What the engine says now; empty when it has no such container. */
  Optional<Inspection> look() throws InterruptedException {
    DockerApi.Answer answer = api.get(path("json"));
    return answer.status() == 404
        ? Optional.empty()
        : Optional.of(new Inspection(answer.required(what()).body()));
  }

  private Inspection require() {
    return DockerApi.calmly(this::look)
        .orElseThrow(() -> new AgentException.NotFound(what(), "it was removed"));
  }

  private Inspection requireRunning() {
    Inspection seen = require();
    if (!seen.status().alive()) {
      throw new AgentException.Conflict(what() + " does not run: start it first");
    }
    return seen;
  }

  @Override
  public ContainerStatus status() {
    try {
      return DockerApi.calmly(this::look).map(this::status).orElse(new ContainerStatus.Removed());
    } catch (AgentException.Network | AgentException.Timeout | AgentException.Internal e) {
      return new ContainerStatus.Unknown(String.valueOf(e.getMessage()));
    }
  }

  ContainerStatus status(Inspection seen) {
    ContainerStatus status = seen.status();
    if (status instanceof ContainerStatus.Exited(Outcome outcome)) {
      state.ended(outcome);
    }
    return state.stopping() && status.alive()
        ? new ContainerStatus.Stopping(seen.startedAt().orElseThrow())
        : status;
  }

  @Override
  public ContainerDetails inspect() {
    Inspection seen = require();
    return new ContainerDetails(
        id,
        seen.name(),
        DockerRuntime.NAME,
        spec,
        seen.image(),
        seen.command(),
        status(seen),
        seen.createdAt(),
        state.restarts(),
        seen.ip(),
        Optional.empty(),
        seen.ports(),
        Optional.empty());
  }

  @Override
  public String name() {
    return listedName.orElseGet(() -> inspect().name());
  }

  @Override
  public void start() throws InterruptedException {
    DockerApi.Answer answer = api.post(path("start"));
    if (answer.status() == 304) {
      return;
    }
    if (answer.success()) {
      state.started();
      return;
    }
    if (answer.status() == 404 && look().isEmpty()) {
      throw answer.refusal(what());
    }
    throw new AgentException.StartFailed(id.toString(), answer.message(), lastLines());
  }

  private List<String> lastLines() throws InterruptedException {
    try (LogReader reader = logs(LogQuery.ALL.withTail(LAST_LINES))) {
      return LogLines.read(reader);
    }
  }

  @Override
  public Optional<Outcome> stop(Duration grace) throws InterruptedException {
    return ending.stop(grace);
  }

  @Override
  public void kill(Signal signal) throws InterruptedException {
    DockerApi.Answer _ = api.post(path("kill") + "?signal=" + signal.number()).required(what());
  }

  @Override
  public Outcome await(WaitCondition condition, Deadline deadline) throws InterruptedException {
    return ending.await(condition, deadline);
  }

  @Override
  public void remove(boolean force) throws InterruptedException {
    ending.remove(force);
  }

  @Override
  public LogReader logs(LogQuery query) {
    return DockerApi.calmly(
        () -> DockerLogReader.open(api, dockerId, spec.process().terminal(), query));
  }

  @Override
  public ExecSession exec(ExecSpec exec) throws InterruptedException {
    Inspection _ = requireRunning();
    return DockerExecSession.start(api, dockerId, id.toString(), exec);
  }

  @Override
  public Stats stats() throws InterruptedException {
    Inspection seen = requireRunning();
    Json json = api.get(path("stats") + "?stream=false&one-shot=true").required(what()).body();
    return DockerStatsReading.of(json, seen);
  }

  @Override
  public OptionalLong pid() {
    return switch (require().status()) {
      case ContainerStatus.Running(_, OptionalLong pid) -> pid;
      case ContainerStatus.Paused(_, OptionalLong pid) -> pid;
      case ContainerStatus _ -> OptionalLong.empty();
    };
  }

  @Override
  public Optional<InetAddress> ip() {
    return require().ip();
  }

  @Override
  public List<ContainerDetails.PortBinding> ports() {
    return require().ports();
  }

  @Override
  public void pause() throws InterruptedException {
    if (!(requireRunning().status() instanceof ContainerStatus.Paused)) {
      DockerApi.Answer _ = api.post(path("pause")).required(what());
    }
  }

  @Override
  public void unpause() throws InterruptedException {
    if (requireRunning().status() instanceof ContainerStatus.Paused) {
      DockerApi.Answer _ = api.post(path("unpause")).required(what());
    }
  }

  @Override
  public void rename(String name) {
    DockerApi.Answer _ =
        DockerApi.calmly(() -> api.post(path("rename") + "?name=" + DockerApi.encoded(name)))
            .required(what());
  }

  @Override
  public List<String> update(Resources resources) throws InterruptedException {
    Json body = LimitsSection.update(spec.resources(), resources);
    return api.post(path("update"), body).required(what()).body().at("Warnings").strings();
  }

  @Override
  public ProcessTable processes() {
    Inspection _ = requireRunning();
    Json table = DockerApi.calmly(() -> api.get(path("top"))).required(what()).body();
    return new ProcessTable(
        table.at("Titles").strings(),
        table.at("Processes").items().stream().map(Json::strings).toList());
  }

  @Override
  public ExecSession attach() throws InterruptedException {
    return DockerAttachment.open(api, this);
  }

  @Override
  public PathStat stat(String path) {
    return DockerApi.calmly(() -> files().stat(path));
  }

  @Override
  public void copyOut(String path, OutputStream tar) throws InterruptedException {
    files().copyOut(path, tar);
  }

  @Override
  public void copyIn(String directory, InputStream tar) throws InterruptedException {
    files().copyIn(directory, tar);
  }

  @Override
  public List<FileChange> changes() {
    return DockerApi.calmly(() -> files().changes());
  }

  private DockerContainerFiles files() {
    return new DockerContainerFiles(api, dockerId);
  }

  String path(String operation) {
    return "/containers/" + dockerId + "/" + operation;
  }

  String what() {
    return "container '" + id + "'";
  }
}
