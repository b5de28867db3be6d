package dev.zlayer.daemon.docker;

import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.List;

/** What a Docker Engine that is part of no swarm refuses, refused in the same way. */
final class SwarmRefusals implements Resource {
  private static final String NO_MANAGER =
      "This node is not a swarm manager. Use \"docker swarm init\" or \"docker swarm join\" to"
          + " connect this node to swarm and try again.";
  private static final String NO_SWARM =
      "swarms are not supported: deploy to several machines with 'zlayer up'";
  private static final String NO_PLUGINS =
      "plugins are not supported: volumes, networks and logs are the agent's own";

  @Override
  public String title() {
    return "Swarm and plugins";
  }

  @Override
  public List<Route> routes() {
    var routes = new ArrayList<Route>();
    for (String of : List.of("nodes", "services", "tasks", "configs", "secrets")) {
      routes.add(Route.get("/" + of, "Refused: no swarm.", _ -> refuse()));
      routes.add(Route.get("/" + of + "/{path*}", "Refused: no swarm.", _ -> refuse()));
      routes.add(Route.post("/" + of + "/{path*}", "Refused: no swarm.", _ -> refuse()));
      routes.add(Route.delete("/" + of + "/{path*}", "Refused: no swarm.", _ -> refuse()));
    }
    routes.add(Route.get("/swarm", "Refused: no swarm.", _ -> refuse()));
    routes.add(Route.get("/swarm/unlockkey", "Refused: no swarm.", _ -> refuse()));
    routes.add(
        Route.post(
            "/swarm/leave",
            "Refused: no swarm.",
            _ -> {
              throw DockerError.unavailable("This node is not part of a swarm");
            }));
    for (String verb : List.of("init", "join", "update", "unlock")) {
      routes.add(
          Route.post(
              "/swarm/" + verb,
              "Refused: no swarm.",
              _ -> {
                throw DockerError.notImplemented(NO_SWARM);
              }));
    }
    routes.add(
        Route.get(
            "/plugins",
            "List plugins: there are none.",
            _ -> ApiResponse.json(Json.of(List.of()))));
    routes.add(Route.get("/plugins/{path*}", "Refused: no plugins.", _ -> refusePlugins()));
    routes.add(Route.post("/plugins/{path*}", "Refused: no plugins.", _ -> refusePlugins()));
    routes.add(Route.delete("/plugins/{path*}", "Refused: no plugins.", _ -> refusePlugins()));
    return routes;
  }

  private static ApiResponse refuse() {
    throw DockerError.unavailable(NO_MANAGER);
  }

  private static ApiResponse refusePlugins() {
    throw DockerError.notImplemented(NO_PLUGINS);
  }
}
