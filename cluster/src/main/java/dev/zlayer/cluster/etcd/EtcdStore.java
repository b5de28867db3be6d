package dev.zlayer.cluster.etcd;

import dev.zlayer.cluster.etcd.EtcdClient.Kind;
import dev.zlayer.cluster.etcd.EtcdClient.Refused;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Optional;

/** The store on etcd, version 3.4 and later. */
public final class EtcdStore implements ClusterStore {
  private static final String LEASE_ENDED = "etcdserver: requested lease not found";

  private final EtcdClient client;

  public EtcdStore(EtcdClient client) {
    this.client = client;
  }

  @Override
  public Optional<Entry> find(String key, Deadline deadline) throws InterruptedException {
    Json body = Json.object().put("key", encode(key)).build();
    return client.ask("/v3/kv/range", body, Kind.READ, deadline).at("kvs").items().stream()
        .map(EtcdStore::entry)
        .findFirst();
  }

  @Override
  public Snapshot list(String prefix, Deadline deadline) throws InterruptedException {
    Json answer = client.ask("/v3/kv/range", range(prefix).build(), Kind.READ, deadline);
    return new Snapshot(
        answer.at("kvs").items().stream().map(EtcdStore::entry).toList(), revision(answer));
  }

  @Override
  public Result transact(List<Condition> conditions, List<Change> changes, Deadline deadline)
      throws InterruptedException {
    checkSize(conditions, changes);
    Json body =
        Json.object()
            .put("compare", conditions.stream().map(EtcdStore::compare).toList())
            .put("success", changes.stream().map(EtcdStore::operation).toList())
            .build();
    try {
      Json answer = client.call("/v3/kv/txn", body, Kind.WRITE, deadline);
      return new Result(answer.at("succeeded").bool().orElse(false), revision(answer));
    } catch (Refused e) {
      if (e.reason().equals(LEASE_ENDED)) {
        throw new AgentException.Conflict("the lease of a key has ended");
      }
      throw EtcdClient.refusal(e);
    }
  }

  private static void checkSize(List<Condition> conditions, List<Change> changes) {
    long bytes = 0;
    for (Change change : changes) {
      bytes += change.key().length();
      if (change instanceof Change.Put put) {
        bytes += put.value().getBytes(StandardCharsets.UTF_8).length;
      }
    }
    if (bytes > MOST_BYTES) {
      throw new AgentException.InvalidSpec(
          "a change of %d bytes is larger than the cluster stores at once (%d)"
              .formatted(bytes, MOST_BYTES));
    }
    if (Math.max(conditions.size(), changes.size()) > MOST_CHANGES) {
      throw new AgentException.InvalidSpec(
          "a transaction has at most %d conditions and changes".formatted(MOST_CHANGES));
    }
  }

  @Override
  public long grant(Duration ttl, Deadline deadline) throws InterruptedException {
    Json body = Json.object().put("TTL", Long.toString(Math.max(1, ttl.toSeconds()))).build();
    return number(client.ask("/v3/lease/grant", body, Kind.WRITE, deadline).at("ID"));
  }

  @Override
  public boolean keepAlive(long lease, Deadline deadline) throws InterruptedException {
    Json answer = client.ask("/v3/lease/keepalive", lease(lease), Kind.RENEW, deadline);
    return number(answer.at("result").at("TTL")) > 0;
  }

  @Override
  public void revoke(long lease, Deadline deadline) throws InterruptedException {
    try {
      Json _ = client.call("/v3/lease/revoke", lease(lease), Kind.WRITE, deadline);
    } catch (Refused e) {
      if (!e.reason().equals(LEASE_ENDED)) {
        throw EtcdClient.refusal(e);
      }
    }
  }

  @Override
  public Watch watch(String prefix, long from) {
    return new EtcdWatch(client, prefix, from);
  }

  @Override
  public void compact(long revision, Deadline deadline) throws InterruptedException {
    Json body = Json.object().put("revision", Long.toString(revision)).build();
    try {
      Json _ = client.call("/v3/kv/compaction", body, Kind.WRITE, deadline);
    } catch (Refused e) {
      if (!e.reason().contains("has been compacted")) {
        throw EtcdClient.refusal(e);
      }
    }
  }

  @Override
  public void close() {
    client.close();
  }

  static Json.Builder range(String prefix) {
    return Json.object().put("key", encode(prefix)).put("range_end", end(prefix));
  }

  static Entry entry(Json kv) {
    return new Entry(
        decode(kv.at("key")),
        decode(kv.at("value")),
        number(kv.at("create_revision")),
        number(kv.at("mod_revision")),
        number(kv.at("lease")));
  }

  static String decode(Json base64) {
    return new String(
        Base64.getDecoder().decode(base64.string().orElse("")), StandardCharsets.UTF_8);
  }

  /** The gateway writes 64 bits as text and leaves zero out. */
  static long number(Json value) {
    return value.string().map(Long::parseLong).or(value::integer).orElse(0L);
  }

  private static long revision(Json answer) {
    return number(answer.at("header").at("revision"));
  }

  private static Json compare(Condition condition) {
    return switch (condition) {
      case Condition.Absent(String key) -> compare(key, "CREATE", "create_revision", 0);
      case Condition.Created(String key, long revision) ->
          compare(key, "CREATE", "create_revision", revision);
      case Condition.Unchanged(String key, long revision) ->
          compare(key, "MOD", "mod_revision", revision);
    };
  }

  private static Json compare(String key, String target, String member, long revision) {
    return Json.object()
        .put("key", encode(key))
        .put("target", target)
        .put("result", "EQUAL")
        .put(member, Long.toString(revision))
        .build();
  }

  private static Json operation(Change change) {
    return switch (change) {
      case Change.Put(String key, String value, long lease) ->
          Json.object()
              .put(
                  "request_put",
                  Json.object()
                      .put("key", encode(key))
                      .put("value", encode(value))
                      .put("lease", Long.toString(lease))
                      .build())
              .build();
      case Change.Delete(String key) ->
          Json.object()
              .put("request_delete_range", Json.object().put("key", encode(key)).build())
              .build();
      case Change.DeleteAll(String prefix) ->
          Json.object().put("request_delete_range", range(prefix).build()).build();
    };
  }

  private static Json lease(long lease) {
    return Json.object().put("ID", Long.toString(lease)).build();
  }

  static String encode(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }

  /** The first key after all that begin with the prefix, as etcd wants it. */
  private static String end(String prefix) {
    byte[] bytes = prefix.getBytes(StandardCharsets.UTF_8);
    if (bytes.length == 0) {
      return Base64.getEncoder().encodeToString(new byte[1]);
    }
    // the last byte of UTF-8 is never the largest one
    byte[] end = Arrays.copyOf(bytes, bytes.length);
    end[end.length - 1]++;
    return Base64.getEncoder().encodeToString(end);
  }
}
