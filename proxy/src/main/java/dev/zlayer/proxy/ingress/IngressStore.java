package dev.zlayer.proxy.ingress;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.json.StoredFormat;
import dev.zlayer.spec.network.EncryptionSpec;
import dev.zlayer.spec.network.RoutePolicy;
import dev.zlayer.task.LazyLogger;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What the ingress serves, one file per service, so that the next agent starts with it. */
final class IngressStore {
  private static final System.Logger LOG = LazyLogger.of(IngressStore.class);
  private static final String PREFIX = "service-";
  private static final String ENDPOINTS = "endpoints";

  static final StoredFormat FORMAT =
      StoredFormat.of(
          "the record of a route",
          IngressStore::withoutTls,
          IngressStore::withoutStreams,
          IngressStore::withoutPolicy,
          IngressStore::withoutWeights);

  private final Path directory;

  IngressStore(Path directory) {
    this.directory = directory;
  }

  /** What cannot be read is left out: its service reports it again. */
  Map<ServiceKey, List<IngressEndpoint>> load() {
    var services = new TreeMap<ServiceKey, List<IngressEndpoint>>();
    try {
      Files.createDirectories(directory);
      try (var files = Files.list(directory)) {
        for (Path file : files.sorted().toList()) {
          if (String.valueOf(file.getFileName()).startsWith(PREFIX)) {
            read(file, services);
          }
        }
      }
    } catch (IOException e) {
      throw failure(directory, e);
    }
    return services;
  }

  private static void read(Path file, Map<ServiceKey, List<IngressEndpoint>> services) {
    try {
      Json json = FORMAT.upgrade(JsonText.parse(Files.readAllBytes(file)), file);
      List<IngressEndpoint> endpoints =
          json.at(ENDPOINTS).items().stream()
              .map(one -> RecordJson.read(one, IngressEndpoint.class))
              .toList();
      services.put(endpoints.getFirst().service(), endpoints);
    } catch (IOException | RuntimeException e) {
      LOG.log(
          System.Logger.Level.WARNING, "ignored unreadable %s: %s".formatted(file, e.getMessage()));
    }
  }

  /** Version 1 had no TLS. */
  private static Json.Obj withoutTls(Json.Obj record) {
    return withInRoute(record, "encryption", RecordJson.write(EncryptionSpec.NONE));
  }

  /** Version 3 let everything through. */
  private static Json.Obj withoutPolicy(Json.Obj record) {
    return withInRoute(record, "policy", RecordJson.write(RoutePolicy.NONE));
  }

  private static Json.Obj withInRoute(Json.Obj record, String name, Json value) {
    List<Json> endpoints =
        record.at(ENDPOINTS).items().stream()
            .<Json>map(endpoint -> with(endpoint, "route", with(endpoint.at("route"), name, value)))
            .toList();
    return with(record, ENDPOINTS, new Json.Arr(endpoints));
  }

  /** Version 2 knew requests only. */
  private static Json.Obj withoutStreams(Json.Obj record) {
    List<Json> endpoints =
        record.at(ENDPOINTS).items().stream()
            .<Json>map(endpoint -> with(endpoint, "stream", Json.of(false)))
            .toList();
    return with(record, ENDPOINTS, new Json.Arr(endpoints));
  }

  /** In version 4 all servers got the same. */
  private static Json.Obj withoutWeights(Json.Obj record) {
    List<Json> endpoints =
        record.at(ENDPOINTS).items().stream()
            .<Json>map(
                endpoint ->
                    with(
                        endpoint,
                        "servers",
                        new Json.Arr(
                            endpoint.at("servers").items().stream()
                                .<Json>map(server -> with(server, "weight", Json.of(1)))
                                .toList())))
            .toList();
    return with(record, ENDPOINTS, new Json.Arr(endpoints));
  }

  private static Json.Obj with(Json object, String name, Json value) {
    var members = new LinkedHashMap<>(object.members());
    members.put(name, value);
    return new Json.Obj(members);
  }

  void save(ServiceKey service, List<IngressEndpoint> endpoints) {
    Path file =
        directory.resolve(
            PREFIX + ContainerId.of(service.deployment(), service.service(), 1).runtimeName());
    try {
      if (endpoints.isEmpty()) {
        Files.deleteIfExists(file);
      } else {
        AtomicFile.writeRelaxed(
            file,
            JsonText.bytes(
                FORMAT
                    .begin()
                    .put(ENDPOINTS, endpoints.stream().map(RecordJson::write).toList())
                    .build()));
      }
    } catch (IOException e) {
      throw failure(file, e);
    }
  }

  private static AgentException failure(Path file, IOException e) {
    return new AgentException.Configuration(
        "cannot write %s: %s".formatted(file, e.getMessage()), e);
  }
}
