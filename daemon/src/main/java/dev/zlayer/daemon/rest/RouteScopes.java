package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.http.DeploymentScope;
import dev.zlayer.daemon.http.Route;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What each route offers to a token of one deployment, all in one place so that it can be reviewed.
 * A route that is not listed is denied, and a test fails.
 */
public final class RouteScopes {
  private static final String ANY =
      """
      GET /ping
      GET /health/live
      GET /version
      GET /openapi.json
      """;

  private static final String PATH =
      """
      GET /deployments/{name}
      PUT /deployments/{name}
      DELETE /deployments/{name}
      POST /deployments/{name}/diff
      GET /deployments/{name}/spec
      GET /deployments/{name}/revisions
      POST /deployments/{name}/rollback
      POST /deployments/{name}/start
      POST /deployments/{name}/stop
      POST /deployments/{name}/restart
      GET /deployments/{name}/services
      GET /deployments/{name}/services/{service}
      GET /deployments/{name}/services/{service}/ended
      POST /deployments/{name}/services/{service}/scale
      POST /deployments/{name}/services/{service}/start
      POST /deployments/{name}/services/{service}/stop
      POST /deployments/{name}/services/{service}/restart
      GET /jobs/{deployment}/{job}
      POST /jobs/{deployment}/{job}/executions
      POST /cron/{deployment}/{job}/run
      POST /cron/{deployment}/{job}/enable
      POST /cron/{deployment}/{job}/disable
      GET /ingress/services/{deployment}/{service}
      PUT /ingress/services/{deployment}/{service}/mode
      GET /ingress/services/{deployment}/{service}/logs
      """;

  private static final String PARAMETER =
      """
      GET /deployments
      GET /containers
      GET /ended
      GET /stats
      GET /stats/history
      GET /jobs
      GET /cron
      GET /cron/upcoming
      GET /executions
      GET /queue
      GET /secrets
      PUT /secrets/{name}
      DELETE /secrets/{name}
      GET /events
      GET /ingress/routes
      """;

  private static final String LOOKUP =
      """
      GET /containers/{ref}
      DELETE /containers/{ref}
      POST /containers/{ref}/start
      POST /containers/{ref}/stop
      POST /containers/{ref}/restart
      POST /containers/{ref}/kill
      POST /containers/{ref}/pause
      POST /containers/{ref}/unpause
      POST /containers/{ref}/rename
      POST /containers/{ref}/update
      POST /containers/{ref}/release
      POST /containers/{ref}/wait
      GET /containers/{ref}/logs
      POST /containers/{ref}/exec
      GET /containers/{ref}/exec/ws
      GET /containers/{ref}/attach/ws
      GET /containers/{ref}/top
      GET /containers/{ref}/changes
      GET /containers/{ref}/environment
      GET /containers/{ref}/ports
      GET /containers/{ref}/archive
      GET /containers/{ref}/export
      HEAD /containers/{ref}/archive
      PUT /containers/{ref}/archive
      GET /containers/{ref}/stats
      GET /containers/{ref}/stats/history
      GET /executions/{id}
      GET /executions/{id}/wait
      GET /executions/{id}/logs
      GET /executions/{id}/follow
      POST /executions/{id}/cancel
      POST /executions/{id}/retry
      GET /executions/{id}/artifacts
      GET /executions/{id}/artifacts/{path*}
      """;

  /** The whole node, or things that deployments share. */
  private static final String DENIED =
      """
      GET /health/ready
      GET /info
      GET /config
      GET /metrics
      POST /containers
      POST /run
      PUT /jobs/-/{job}
      DELETE /jobs/-/{job}
      GET /images
      POST /images/pull
      POST /images/push
      POST /images/build
      POST /registries/login
      GET /images/inspect
      GET /images/history
      POST /images/tag
      DELETE /images
      POST /images/prune
      POST /images/load
      GET /images/save
      POST /images/import
      POST /images/commit
      POST /images/check
      GET /volumes
      POST /volumes
      GET /volumes/{name}
      DELETE /volumes/{name}
      POST /volumes/prune
      GET /volumes/{name}/archive
      PUT /volumes/{name}/archive
      GET /backup
      GET /gpus
      GET /ingress/ca
      GET /ingress/certificates
      POST /ingress/certificates/{host}/revoke
      GET /networks
      POST /networks
      GET /networks/{name}
      POST /networks/{name}/connect
      POST /networks/{name}/disconnect
      DELETE /networks/{name}
      GET /tokens
      POST /tokens
      DELETE /tokens/{name}
      GET /audit
      POST /dashboard/links
      GET /dashboard/sessions
      DELETE /dashboard/sessions/{name}
      GET /cluster
      POST /cluster/init
      POST /cluster/join
      POST /cluster/leave
      GET /cluster/backup
      GET /cluster/certificate
      POST /cluster/restore
      POST /cluster/tokens
      GET /nodes
      GET /nodes/{name}
      POST /nodes/{name}/labels
      POST /nodes/{name}/scheduling
      POST /nodes/{name}/certificate
      DELETE /nodes/{name}
      """;

  private static final Map<String, DeploymentScope> SCOPES = scopes();

  private RouteScopes() {}

  private static Map<String, DeploymentScope> scopes() {
    var scopes = new HashMap<String, DeploymentScope>();
    Map.of(
            DeploymentScope.ANY, ANY,
            DeploymentScope.PATH, PATH,
            DeploymentScope.PARAMETER, PARAMETER,
            DeploymentScope.LOOKUP, LOOKUP,
            DeploymentScope.DENIED, DENIED)
        .forEach((scope, routes) -> routes.lines().forEach(route -> scopes.put(route, scope)));
    return scopes;
  }

  public static DeploymentScope of(Route route) {
    return stated(route.method(), route.template()).orElse(DeploymentScope.DENIED);
  }

  static Optional<DeploymentScope> stated(String method, String template) {
    return Optional.ofNullable(SCOPES.get(method + " " + template));
  }
}
