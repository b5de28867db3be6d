package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.json.StoredFormat;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * What is kept of a replica, or of an init step of one, whose container is removed: a service that
 * fails again and again has no container to ask most of the time.
 *
 * @param container its identity
 * @param status how it ended, for people
 * @param lines what it printed last, without secrets
 */
public record EndedReplica(
    String container, String role, int replica, Instant at, String status, List<String> lines) {
  static final String KIND = "service.ended";

  /** The first version was the list alone. */
  static final StoredFormat FORMAT =
      StoredFormat.of("what is kept of ended replicas", UnaryOperator.identity());

  private static final String LIST = "replicas";
  static final int MOST_LINES = 200;
  private static final int MOST = 5;
  private static final int LONGEST_LINE = 4096;

  public EndedReplica {
    lines = List.copyOf(lines);
  }

  static EndedReplica of(ContainerId id, Instant at, String status, List<String> lines) {
    List<String> last = lines.subList(Math.max(0, lines.size() - MOST_LINES), lines.size());
    return new EndedReplica(
        id.path(),
        id.role(),
        id.replica(),
        at,
        status,
        last.stream()
            .map(line -> line.substring(0, Math.min(line.length(), LONGEST_LINE)))
            .toList());
  }

  /** Those of a service, oldest first. */
  public static List<EndedReplica> read(StateStore store, ServiceKey service) {
    return store.find(KIND, service.toString()).map(EndedReplica::parse).orElse(List.of());
  }

  /** Those of these services, in their order, each oldest first. */
  public static Map<ServiceKey, List<EndedReplica>> read(
      StateStore store, Collection<ServiceKey> services) {
    var stored = new HashMap<String, byte[]>();
    store.list(KIND).forEach(entry -> stored.put(entry.key(), entry.value()));
    var ended = new LinkedHashMap<ServiceKey, List<EndedReplica>>();
    for (ServiceKey service : services) {
      Optional.ofNullable(stored.get(service.toString()))
          .ifPresent(bytes -> ended.put(service, parse(bytes)));
    }
    return ended;
  }

  private static List<EndedReplica> parse(byte[] bytes) {
    return parse(JsonText.parse(bytes));
  }

  static List<EndedReplica> parse(Json json) {
    Json whole =
        json instanceof Json.Arr ? Json.object().put("version", 1).put(LIST, json).build() : json;
    return FORMAT.upgrade(whole, "state.db").at(LIST).items().stream()
        .map(one -> RecordJson.read(one, EndedReplica.class))
        .toList();
  }

  static Json json(List<EndedReplica> replicas) {
    return FORMAT.begin().put(LIST, RecordJson.write(replicas)).build();
  }

  /** The newest are kept; for one caller of a service at a time. */
  void keep(StateStore store, ServiceKey service) {
    var all = new ArrayList<>(read(store, service));
    all.add(this);
    Json kept = json(all.subList(Math.max(0, all.size() - MOST), all.size()));
    store.commit(Change.of(new Change.Put(KIND, service.toString(), JsonText.bytes(kept))));
  }
}
