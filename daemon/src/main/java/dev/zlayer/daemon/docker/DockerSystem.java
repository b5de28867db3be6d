package dev.zlayer.daemon.docker;

import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.json.Json;
import dev.zlayer.runtime.oci.tool.OciTools;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Whether somebody is here, and who. */
final class DockerSystem implements Resource {
  /** Clients want to know the language of the engine and its version. */
  private static final String LANGUAGE = "java" + Runtime.version().feature();

  private final String version;
  private final Optional<OciTools> tools;

  /** {@code version} is that of the agent. */
  DockerSystem(String version, Optional<OciTools> tools) {
    this.version = version;
    this.tools = tools;
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
    String os = Machine.kernel();
    var details =
        Json.object()
            .put("ApiVersion", DockerEngineApi.VERSION)
            .put("Arch", arch())
            .put("BuildTime", "")
            .put("Experimental", "false")
            .put("GitCommit", "")
            .put("GoVersion", LANGUAGE)
            .put("KernelVersion", os)
            .put("MinAPIVersion", DockerEngineApi.OLDEST)
            .put("Os", "linux")
            .build();
    return ApiResponse.json(
        Json.object()
            .put("Platform", Map.of("Name", "zlayer"))
            .put("Components", components(details))
            .put("Version", DockerEngineApi.ENGINE)
            .put("ApiVersion", DockerEngineApi.VERSION)
            .put("MinAPIVersion", DockerEngineApi.OLDEST)
            .put("GitCommit", "")
            .put("GoVersion", LANGUAGE)
            .put("Os", "linux")
            .put("Arch", arch())
            .put("KernelVersion", os)
            .put("BuildTime", "")
            .build());
  }

  /** The agent, and the OCI runtime that it uses. */
  private List<Json> components(Json details) {
    var components = new ArrayList<Json>();
    components.add(component("Engine", DockerEngineApi.ENGINE, details));
    tools
        .map(OciTools::runtime)
        .ifPresent(
            tool ->
                components.add(
                    component(
                        tool.name(),
                        tool.version().lines().findFirst().orElse("").replaceFirst("^.* ", ""),
                        Json.object().put("Path", tool.path().toString()).build())));
    components.add(component("zlayer", version, Json.object().build()));
    return components;
  }

  private static Json component(String name, String version, Json details) {
    return Json.object().put("Name", name).put("Version", version).put("Details", details).build();
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
