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
        Route.view("/ping", "Answer OK.", _ -> ApiResponse.text(ApiRequest.TEXT, "OK\n"))
            .givesType(ApiRequest.TEXT, "OK"),
        Route.view(
                "/health/live",
                "Report whether the agent is alive.",
                _ -> ApiResponse.text(ApiRequest.TEXT, "OK\n"))
            .givesType(ApiRequest.TEXT, "OK"),
        Route.view(
                "/health/ready",
                "Report whether every part works; 503 if one does not.",
                _ -> ready())
            .gives(Health.class),
        Route.view(
                "/version",
                "Show the version.",
                _ -> ApiResponse.json(ViewJson.of(Version.CURRENT)))
            .gives(Version.class),
        Route.view("/info", "Show facts about this node.", _ -> ApiResponse.json(info.look()))
            .givesType(ApiRequest.JSON, "Facts about the host, the runtimes and the agent."),
        Route.view(
                "/config",
                "Show the configuration and the source of each value.",
                _ -> ApiResponse.json(configured.json()))
            .givesType(ApiRequest.JSON, "Every key with its value and source."),
        Route.view(
                "/metrics",
                "Metrics in Prometheus format.",
                _ -> ApiResponse.text(Metrics.type(), metrics.get()))
            .givesType(Metrics.type(), "The text format."),
        Route.view(
                "/openapi.json", "This API as OpenAPI.", _ -> ApiResponse.json(description.get()))
            .givesType(ApiRequest.JSON, "An OpenAPI 3.1 document."));
  }

  private ApiResponse ready() {
    Health now = health.get();
    return ApiResponse.json(now.ready() ? 200 : 503, ViewJson.of(now));
  }
}
