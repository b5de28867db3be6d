package dev.zlayer.daemon.rest.doc;

import dev.zlayer.daemon.http.ProblemDocument;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.http.Router;
import dev.zlayer.daemon.rest.Resource;
import dev.zlayer.daemon.rest.RouteScopes;
import dev.zlayer.json.Json;
import dev.zlayer.spec.read.JsonSchema;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The routes as an OpenAPI 3.1 document. */
public final class OpenApi {
  private static final String PREFIX = "#/components/schemas/";
  private static final Pattern VARIABLE = Pattern.compile("\\{([a-z]+)\\*?}");

  private final Map<String, Json> schemas = new TreeMap<>();
  private final ViewSchema views = new ViewSchema(schemas, PREFIX);

  private OpenApi() {}

  public static Json.Obj of(List<Resource> resources, String version) {
    return new OpenApi().document(resources, version);
  }

  private Json.Obj document(List<Resource> resources, String version) {
    Map<String, Map<String, Json>> paths = new LinkedHashMap<>();
    for (Resource resource : resources) {
      for (Route route : resource.routes()) {
        paths
            .computeIfAbsent(
                Router.PREFIX + route.template().replace("*}", "}"), _ -> new LinkedHashMap<>())
            .put(route.method().toLowerCase(java.util.Locale.ROOT), operation(resource, route));
      }
    }
    schemas.put("Problem", problem());
    return Json.object()
        .put("openapi", "3.1.0")
        .put(
            "info",
            Json.object()
                .put("title", "zlayer")
                .put(
                    "description", "The agent's REST API. Errors are problem documents (RFC 9457).")
                .put("version", version)
                .build())
        .put("paths", paths)
        .put("components", Json.object().put("schemas", schemas).build())
        .build();
  }

  private Json operation(Resource resource, Route route) {
    var operation =
        Json.object()
            .put("tags", List.of(resource.title()))
            .put("summary", route.summary())
            .put("operationId", id(route))
            .put("x-read-only", route.viewable())
            .put(
                "x-deployment-token",
                RouteScopes.of(route).name().toLowerCase(java.util.Locale.ROOT))
            .put("parameters", parameters(route));
    route.body().ifPresent(body -> operation.put("requestBody", body(body)));
    return operation.put("responses", responses(route)).build();
  }

  private static String id(Route route) {
    return route.method().toLowerCase(java.util.Locale.ROOT)
        + route.template().replaceAll("[{}*]", "").replaceAll("[/.]", "_");
  }

  private static List<Json> parameters(Route route) {
    var parameters = new ArrayList<Json>();
    Matcher variable = VARIABLE.matcher(route.template());
    while (variable.find()) {
      parameters.add(parameter(variable.group(1), "path", true, "string", ""));
    }
    for (Route.Parameter query : route.parameters()) {
      parameters.add(
          parameter(query.name(), query.in(), query.required(), query.type(), query.doc()));
    }
    return parameters;
  }

  private static Json parameter(String name, String in, boolean required, String type, String doc) {
    var parameter =
        Json.object()
            .put("name", name)
            .put("in", in)
            .put("required", required)
            .put("schema", Json.object().put("type", type).build());
    return doc.isEmpty() ? parameter.build() : parameter.put("description", doc).build();
  }

  private Json body(Route.Body body) {
    Json schema =
        body.type()
            .<Json>map(type -> JsonSchema.of(type, schemas, PREFIX))
            .orElseGet(OpenApi::bytes);
    var media = Json.object().put("schema", schema).build();
    var request = Json.object().put("content", Map.of(body.mediaType(), media));
    return body.doc().isEmpty() ? request.build() : request.put("description", body.doc()).build();
  }

  private Json responses(Route route) {
    Map<String, Map<String, Json>> contents = new TreeMap<>();
    Map<String, String> docs = new TreeMap<>();
    for (Route.Result result : route.results()) {
      String status = Integer.toString(result.status());
      docs.merge(status, result.doc(), (one, other) -> one + "; " + other);
      Map<String, Json> content = contents.computeIfAbsent(status, _ -> new LinkedHashMap<>());
      if (!result.mediaType().isEmpty()) {
        content.put(result.mediaType(), Json.object().put("schema", schema(result)).build());
      }
    }
    var responses = Json.object();
    docs.forEach(
        (status, doc) -> {
          var response = Json.object().put("description", doc);
          Map<String, Json> content = contents.getOrDefault(status, Map.of());
          responses.put(
              status, (content.isEmpty() ? response : response.put("content", content)).build());
        });
    Json failure =
        Json.object().put("schema", Json.object().put("$ref", PREFIX + "Problem").build()).build();
    return responses
        .put(
            "default",
            Json.object()
                .put("description", "what went wrong")
                .put("content", Map.of(ProblemDocument.TYPE, failure))
                .build())
        .build();
  }

  private Json schema(Route.Result result) {
    if (result.type().isEmpty()) {
      return result.mediaType().contains("json") ? Json.object().build() : bytes();
    }
    Json one = views.of(result.type().get());
    return result.many() ? Json.object().put("type", "array").put("items", one).build() : one;
  }

  private static Json bytes() {
    return Json.object().put("type", "string").build();
  }

  private static Json problem() {
    Json text = Json.object().put("type", "string").build();
    return Json.object()
        .put("type", "object")
        .put(
            "properties",
            Json.object()
                .put("type", text)
                .put("title", text)
                .put("status", Json.object().put("type", "integer").build())
                .put("kind", text)
                .put("blame", text)
                .put("detail", text)
                .put("request_id", text)
                .put("last_lines", Json.object().put("type", "array").put("items", text).build())
                .build())
        .put(
            "required", List.of("type", "title", "status", "kind", "blame", "detail", "request_id"))
        .build();
  }
}
