package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.Health;
import dev.zlayer.daemon.Version;
import dev.zlayer.daemon.config.Configured;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
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
                "/ping",
                "Answers OK; the cheapest question.",
                _ -> ApiResponse.text(ApiRequest.TEXT, "OK\n"))
            .givesType(ApiRequest.TEXT, "OK"),
        Route.view(
                "/health/live",
                "Whether the agent is alive.",
                _ -> ApiResponse.text(ApiRequest.TEXT, "OK\n"))
            .givesType(ApiRequest.TEXT, "OK"),
        Route.view(
                "/health/ready", "Whether every part works; 503 when one does not.", _ -> ready())
            .gives(Health.class),
        Route.view(
                "/version",
                "Which build this is.",
                _ -> ApiResponse.json(ViewJson.of(Version.CURRENT)))
            .gives(Version.class),
        Route.view("/info", "What this node is and has.", _ -> ApiResponse.json(info.look()))
            .givesType(ApiRequest.JSON, "Facts about the host, the runtimes and the agent."),
        Route.view(
                "/config",
                "What is in force and where it came from.",
                _ -> ApiResponse.json(configured.json()))
            .givesType(ApiRequest.JSON, "Every key with its value and source."),
        Route.view(
                "/metrics",
                "Figures for Prometheus.",
                _ -> ApiResponse.text(Metrics.type(), metrics.get()))
            .givesType(Metrics.type(), "The text format."),
        Route.view(
                "/openapi.json",
                "This interface, described.",
                _ -> ApiResponse.json(description.get()))
            .givesType(ApiRequest.JSON, "An OpenAPI 3.1 document."));
  }

  private ApiResponse ready() {
    Health now = health.get();
    return ApiResponse.json(now.ready() ? 200 : 503, ViewJson.of(now));
  }
}
