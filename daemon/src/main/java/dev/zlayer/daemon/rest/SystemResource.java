package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.Health;
import dev.zlayer.daemon.Version;
import dev.zlayer.daemon.config.Configured;
import dev.zlayer.daemon.http.Answer;
import dev.zlayer.daemon.http.Call;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.metrics.Metrics;
import dev.zlayer.json.Json;
import java.util.List;
import java.util.function.Supplier;

/** The agent itself. */
public final class SystemResource implements Resource {
  private final Configured configured;
  private final InfoSource info;
  private final Supplier<Health> health;
  private final Supplier<String> metrics;
  private final Supplier<Json> description;

  /** Looks at the node; runs programs and may take a moment. */
  @FunctionalInterface
  public interface InfoSource {
    Json look() throws InterruptedException;
  }

  public SystemResource(
      Configured configured,
      InfoSource info,
      Supplier<Health> health,
      Supplier<String> metrics,
      Supplier<Json> description) {
    this.configured = configured;
    this.info = info;
    this.health = health;
    this.metrics = metrics;
    this.description = description;
  }

  @Override
  public String title() {
    return "The agent";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.view(
                "/ping", "Answers OK; the cheapest question.", _ -> Answer.text(Call.TEXT, "OK\n"))
            .givesType(Call.TEXT, "OK"),
        Route.view(
                "/health/live", "Whether the agent is alive.", _ -> Answer.text(Call.TEXT, "OK\n"))
            .givesType(Call.TEXT, "OK"),
        Route.view(
                "/health/ready", "Whether every part works; 503 when one does not.", _ -> ready())
            .gives(Health.class),
        Route.view(
                "/version", "Which build this is.", _ -> Answer.json(ViewJson.of(Version.CURRENT)))
            .gives(Version.class),
        Route.view("/info", "What this node is and has.", _ -> Answer.json(info.look()))
            .givesType(Call.JSON, "Facts about the host, the runtimes and the agent."),
        Route.view(
                "/config",
                "What is in force and where it came from.",
                _ -> Answer.json(configured.json()))
            .givesType(Call.JSON, "Every key with its value and source."),
        Route.view(
                "/metrics",
                "Figures for Prometheus.",
                _ -> Answer.text(Metrics.type(), metrics.get()))
            .givesType(Metrics.type(), "The text format."),
        Route.view(
                "/openapi.json", "This interface, described.", _ -> Answer.json(description.get()))
            .givesType(Call.JSON, "An OpenAPI 3.1 document."));
  }

  private Answer ready() {
    Health now = health.get();
    return Answer.json(now.ready() ? 200 : 503, ViewJson.of(now));
  }
}
