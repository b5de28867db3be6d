package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.http.Answer;
import dev.zlayer.daemon.http.Call;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import java.time.InstantSource;
import java.util.List;

/** What containers print. */
public final class ContainerOutputResource implements Resource {
  private final References references;
  private final InstantSource clock;

  public ContainerOutputResource(ContainerRuntime runtime, InstantSource clock) {
    this.references = new References(runtime);
    this.clock = clock;
  }

  @Override
  public String title() {
    return "Output of containers";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        LogLines.parameters(Route.get("/containers/{ref}/logs", "What it printed.", this::logs)));
  }

  private Answer logs(Call call) {
    Container container = references.find(call.path("ref"));
    return LogLines.answer(call, () -> container.logs(LogLines.query(call, clock.instant())));
  }
}
