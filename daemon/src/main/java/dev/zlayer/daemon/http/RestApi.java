package dev.zlayer.daemon.http;

import dev.zlayer.json.JsonText;
import java.util.ArrayList;
import java.util.Map;
import java.util.Set;
import org.eclipse.jetty.util.URIUtil;

/** The agent's own API, whose failures are problem documents. */
public record RestApi(Router router, Set<String> open) implements HttpApi {
  /** Also found without the prefix, where probes and scrapers look for them. */
  private static final Set<String> SHORT = Set.of("ping", "health", "metrics");

  /** No route is open to callers that were not admitted. */
  public RestApi(Router router) {
    this(router, Set.of());
  }

  /** By its template. */
  @Override
  public boolean open(Route route) {
    return open.contains(route.template());
  }

  @Override
  public Router.Match find(String method, String path) {
    var segments = new ArrayList<String>();
    for (String segment : Router.segments(path)) {
      segments.add(URIUtil.decodePath(segment));
    }
    if (SHORT.contains(segments.getFirst())) {
      segments.addAll(0, Router.segments(Router.PREFIX));
    }
    return router.find(method, segments);
  }

  @Override
  public Map<String, String> headers() {
    return Map.of();
  }

  @Override
  public ApiResponse.Whole problem(Throwable thrown, String requestId) {
    var problem = ProblemDocument.of(thrown);
    return new ApiResponse.Whole(
        problem.status(), ProblemDocument.TYPE, JsonText.bytes(problem.json(requestId)), Map.of());
  }
}
