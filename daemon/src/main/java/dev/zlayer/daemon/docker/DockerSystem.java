package dev.zlayer.daemon.docker;

import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.json.Json;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/** Whether somebody is here, and who. */
final class DockerSystem implements Resource {
  private final String version;
  private final String commit;

  DockerSystem(String version, String commit) {
    this.version = version;
    this.commit = commit;
  }

  @Override
  public String title() {
    return "System";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.get("/_ping", "Say that the agent answers.", this::ping),
        Route.head("/_ping", "The same without a body.", this::ping),
        Route.get("/version", "Show versions of the agent and the API.", this::version));
  }

  private ApiResponse ping(ApiRequest call) {
    return new ApiResponse.Whole(
        200,
        ApiRequest.TEXT,
        "OK".getBytes(StandardCharsets.UTF_8),
        Map.of(
            "Cache-Control", "no-cache, no-store, must-revalidate",
            "Pragma", "no-cache",
            "Builder-Version", "1",
            "Swarm", "inactive"));
  }

  private ApiResponse version(ApiRequest call) {
    String os = System.getProperty("os.version", "");
    var details =
        Json.object()
            .put("ApiVersion", DockerEngineApi.VERSION)
            .put("Arch", arch())
            .put("BuildTime", "")
            .put("Experimental", "false")
            .put("GitCommit", commit)
            .put("GoVersion", "")
            .put("KernelVersion", os)
            .put("MinAPIVersion", DockerEngineApi.OLDEST)
            .put("Os", "linux")
            .build();
    return ApiResponse.json(
        Json.object()
            .put("Platform", Map.of("Name", "zlayer"))
            .put(
                "Components",
                List.of(
                    Json.object()
                        .put("Name", "Engine")
                        .put("Version", version)
                        .put("Details", details)
                        .build()))
            .put("Version", version)
            .put("ApiVersion", DockerEngineApi.VERSION)
            .put("MinAPIVersion", DockerEngineApi.OLDEST)
            .put("GitCommit", commit)
            .put("GoVersion", "")
            .put("Os", "linux")
            .put("Arch", arch())
            .put("KernelVersion", os)
            .put("BuildTime", "")
            .build());
  }

  /** In the words of images. */
  static String arch() {
    String arch = System.getProperty("os.arch", "");
    return switch (arch) {
      case "x86_64" -> "amd64";
      case "aarch64" -> "arm64";
      default -> arch;
    };
  }
}
