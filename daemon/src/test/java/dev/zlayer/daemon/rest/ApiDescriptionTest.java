package dev.zlayer.daemon.rest;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.daemon.http.DeploymentScope;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.rest.doc.ApiReference;
import dev.zlayer.daemon.rest.doc.OpenApi;
import dev.zlayer.json.Json;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The description of the API against the API: both are made from the routes, none is left out. */
class ApiDescriptionTest {
  private static final Path COMMITTED = Path.of("../docs/api.md");

  /** Routes need nothing to be listed. */
  static List<Resource> resources() {
    var system = new SystemResource(null, null, null, null, null);
    return new ResourceContext(
            system, null, null, null, null, null, null, null, null, null, null, null, null, null,
            null, null, null, null, null, null, null, null, null, null)
        .all();
  }

  @Test
  void everyRouteIsDescribed() {
    Json document = OpenApi.of(resources(), "1");

    var described = new TreeSet<String>();
    document
        .at("paths")
        .members()
        .forEach(
            (path, operations) ->
                operations
                    .members()
                    .keySet()
                    .forEach(method -> described.add(method + " " + path)));
    var routed = new TreeSet<String>();
    for (Resource resource : resources()) {
      for (Route route : resource.routes()) {
        routed.add(
            route.method().toLowerCase(java.util.Locale.ROOT)
                + " /api/v1"
                + route.template().replace("*}", "}"));
      }
    }
    assertThat(described).isEqualTo(routed).hasSizeGreaterThan(60);
  }

  @Test
  void theTypesOfThePageAreThoseOfTheRoutes() throws Exception {
    Path committed = Path.of("src/web/api.d.ts");
    String made = ApiTypes.of(OpenApi.of(resources(), "1"));
    if (System.getenv("ZLAYER_UPDATE_DOCS") != null) {
      Files.writeString(committed, made);
    }
    assertThat(Files.readString(committed))
        .as("renew it with ZLAYER_UPDATE_DOCS=1, then run tools/check-web")
        .isEqualTo(made);
  }

  /** A program reads answers: what lasts some time is ISO 8601, or a number with its unit. */
  @Test
  void durationsInAnswersAreNeverProse() {
    assertThat(ViewJson.of(Duration.ofMillis(90_500))).isEqualTo(Json.of("PT1M30.5S"));
    assertThat(ViewJson.of(Optional.of(Duration.ofDays(2)))).isEqualTo(Json.of("PT48H"));
    var named = new TreeMap<String, Json>();
    OpenApi.of(resources(), "1").at("components").at("schemas").members().entrySet().stream()
        .filter(schema -> !schema.getKey().endsWith("Spec")) // those are sent
        .forEach(
            schema ->
                schema
                    .getValue()
                    .at("properties")
                    .members()
                    .forEach((name, type) -> named.put(schema.getKey() + "." + name, type)));
    assertThat(named.keySet()).anyMatch(name -> name.endsWith("StepView.took"));
    named.forEach(
        (name, type) -> {
          if (name.matches(".*\\.(.*_)?(took|duration|elapsed|uptime|latency|pause|delay)")) {
            assertThat(type.at("format").string()).as(name).contains("duration");
          }
        });
  }

  @Test
  void everyRouteSaysWhatItGives() {
    for (Resource resource : resources()) {
      for (Route route : resource.routes()) {
        assertThat(route.results()).as(route.method() + " " + route.template()).isNotEmpty();
        assertThat(route.summary()).endsWith(".");
      }
    }
  }

  /** Events and the audit log are lists too, however they come. */
  @Test
  void everyListCanBeAskedForInParts() {
    var lists = new ArrayList<String>();
    for (Resource resource : resources()) {
      for (Route route : resource.routes()) {
        boolean many =
            route.results().stream().anyMatch(result -> result.many())
                || List.of("/events", "/audit").contains(route.template());
        if (many && route.method().equals("GET")) {
          lists.add(route.template());
          List<String> names =
              route.parameters().stream().map(parameter -> parameter.name()).toList();
          assertThat(names)
              .as(route.template())
              .contains("limit", route.template().equals("/events") ? "since" : "offset");
        }
      }
    }
    assertThat(lists).contains("/containers", "/executions", "/deployments").hasSizeGreaterThan(15);
  }

  /** A route that nobody has decided about is denied, and is found here. */
  @Test
  void everyDescribedRouteHasAStatedScopeForTokens() {
    var unstated = new ArrayList<String>();
    for (Resource resource : resources()) {
      for (Route route : resource.routes()) {
        if (RouteScopes.stated(route.method(), route.template()).isEmpty()) {
          unstated.add(route.method() + " " + route.template());
        }
        DeploymentScope scope = RouteScopes.of(route);
        String what = route.method() + " " + route.template() + " is " + scope;
        if (scope == DeploymentScope.PARAMETER) {
          assertThat(route.parameters())
              .as(what)
              .anyMatch(parameter -> parameter.name().equals("deployment"));
        }
        if (scope == DeploymentScope.PATH) {
          assertThat(route.template())
              .as(what)
              .matches("/deployments/\\{name}.*|.*\\{deployment}.*");
        }
        if (scope == DeploymentScope.LOOKUP) {
          assertThat(route.template()).as(what).containsAnyOf("{ref}", "{id}");
        }
      }
    }
    assertThat(unstated).isEmpty();
    OpenApi.of(resources(), "1")
        .at("paths")
        .members()
        .forEach(
            (path, operations) ->
                operations
                    .members()
                    .forEach(
                        (method, operation) -> {
                          String what = method + " " + path;
                          assertThat(operation.at("x-deployment-token").string())
                              .as(what)
                              .isPresent();
                          assertThat(operation.at("x-read-only").bool()).as(what).isPresent();
                        }));
  }

  @Test
  void everyReferenceLeadsToASchema() {
    Json.Obj document = OpenApi.of(resources(), "1");
    var references = new ArrayList<String>();
    collect(document, references);
    assertThat(references).isNotEmpty();
    for (String reference : references) {
      String name = reference.substring("#/components/schemas/".length());
      assertThat(document.at("components").at("schemas").at(name).isNull()).as(reference).isFalse();
    }
  }

  private static void collect(Json json, List<String> references) {
    json.at("$ref").string().ifPresent(references::add);
    json.members().values().forEach(member -> collect(member, references));
    json.items().forEach(item -> collect(item, references));
  }

  @Test
  void thePageForPeopleIsUpToDate() throws Exception {
    String page = ApiReference.markdown(resources());
    if (System.getenv("ZLAYER_UPDATE_DOCS") != null) {
      Files.writeString(COMMITTED, page);
    }
    assertThat(Files.readString(COMMITTED))
        .as("docs/api.md is out of date: run this test with ZLAYER_UPDATE_DOCS=1")
        .isEqualTo(page);
  }
}
