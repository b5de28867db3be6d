package dev.zlayer.daemon.rest.cluster;

import dev.zlayer.cluster.secret.SecretId;
import dev.zlayer.cluster.secret.StoredSecrets;
import dev.zlayer.daemon.ResourceEvents;
import dev.zlayer.daemon.cluster.ClusterSecrets;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.ClusterListener;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.http.RouteHandler;
import dev.zlayer.daemon.rest.SecretsResource;
import dev.zlayer.daemon.rest.ViewJson;
import dev.zlayer.engine.secret.SecretInfo;
import dev.zlayer.engine.secret.SecretName;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Map;
import java.util.Optional;

/** Requests about secrets of the cluster, on any of its nodes. */
final class SecretRequests {
  private final ClusterSecrets secrets;
  private final String node;
  private final ResourceEvents events;

  /** {@code node} is the name of this one. */
  SecretRequests(ClusterSecrets secrets, String node, ResourceEvents events) {
    this.secrets = secrets;
    this.node = node;
    this.events = events;
  }

  static boolean handles(String template) {
    return template.equals("/secrets") || template.startsWith("/secrets/");
  }

  ApiResponse answer(Route route, RouteHandler local, ApiRequest call) throws InterruptedException {
    return switch (route.method()) {
      case "GET" -> list(local, call);
      case "PUT" -> set(call);
      default -> remove(call);
    };
  }

  /** Those of the cluster, and after them those of this node alone. */
  private ApiResponse list(RouteHandler local, ApiRequest call) throws InterruptedException {
    Optional<String> deployment = call.query("deployment");
    var all = new ArrayList<Json>();
    for (StoredSecrets.Listed one : secrets.list()) {
      if (deployment.isEmpty() || one.id().deployment().equals(deployment)) {
        all.add(view(one));
      }
    }
    if (local.answer(call.without(ClusterRoutes.PAGES)) instanceof ApiResponse.Whole own
        && own.status() == 200) {
      JsonText.parse(own.body()).items().forEach(one -> all.add(ClusterStatus.on(node, one)));
    }
    return ApiResponse.json(new Json.Arr(all));
  }

  private static Json view(StoredSecrets.Listed one) {
    return ViewJson.of(
        SecretsResource.SecretView.of(
            new SecretInfo(name(one.id()), one.changed(), one.revision(), one.fingerprint())));
  }

  private static SecretName name(SecretId id) {
    return new SecretName(id.deployment(), id.service(), id.name());
  }

  private static SecretId id(ApiRequest call) {
    SecretName name = SecretsResource.name(call);
    return new SecretId(name.deployment(), name.service(), name.name());
  }

  private ApiResponse set(ApiRequest call) throws InterruptedException {
    SecretId id = id(call);
    byte[] value = SecretsResource.value(call).getBytes(StandardCharsets.UTF_8);
    if (secrets.opens()) {
      StoredSecrets.Listed info = secrets.set(id, value);
      happened("set", id);
      return ApiResponse.json(view(info));
    }
    if (call.fromNode()) {
      throw new AgentException.Conflict(
          "this node cannot set secrets of the cluster; ask one that stores the state");
    }
    ApiResponse.Whole answer =
        secrets.send(
            scoped(call, new HttpRequest.Body.Bytes(value))
                .with("Content-Type", "application/octet-stream"));
    if (answer.status() == 200) {
      happened("set", id);
    }
    return answer;
  }

  /** The same request for another node, with the rights of its caller. */
  private static HttpRequest scoped(ApiRequest call, HttpRequest.Body body) {
    HttpRequest request = HttpRequest.of(call.method(), call.target()).withBody(body);
    return call.deployment().isPresent()
        ? request.with(ClusterListener.DEPLOYMENT, call.deployment().get())
        : request;
  }

  private ApiResponse remove(ApiRequest call) throws InterruptedException {
    SecretId id = id(call);
    if (!secrets.opens() && !call.fromNode()) {
      ApiResponse.Whole answer = secrets.send(scoped(call, new HttpRequest.Body.None()));
      if (answer.status() / 100 == 2) {
        happened("removed", id);
      }
      return answer;
    }
    try {
      secrets.remove(id);
    } catch (AgentException.NotFound e) {
      throw new AgentException.NotFound(
          e.what(),
          "the cluster has no such secret; 'zlayer secret rm --local' removes one of this node");
    }
    happened("removed", id);
    return ApiResponse.done();
  }

  /** Without the value, and without what could be compared with one. */
  private void happened(String action, SecretId id) {
    events.record("secret", action, id.toString(), Map.of("scope", "cluster"));
  }
}
