package dev.zlayer.cluster.etcd;

import dev.zlayer.cluster.etcd.EtcdClient.Kind;
import dev.zlayer.cluster.etcd.EtcdClient.Refused;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeoutException;

/** Who stores the state of the cluster, and how well. */
public final class EtcdMembers {
  private static final List<String> NOT_NOW =
      List.of("unhealthy cluster", "too many learner members", "not healthy");
  private static final Duration STEP = Duration.ofMillis(200);
  private static final String NOT_READY = "can only promote a learner member which is in sync";

  /**
   * A member.
   *
   * @param id in etcd's own numbers
   * @param name empty until it has started for the first time
   * @param learner it gets everything and does not count for the majority yet
   */
  public record Member(
      String id, String name, List<URI> peers, List<URI> clients, boolean learner) {}

  /**
   * The state of the member that answers.
   *
   * @param size of its file
   * @param used what of it holds anything
   */
  public record Status(String version, String leader, String member, long size, long used) {}

  private final EtcdClient client;
  private final Pauses pauses;

  public EtcdMembers(EtcdClient client) {
    this(client, Pauses.REAL);
  }

  EtcdMembers(EtcdClient client, Pauses pauses) {
    this.client = client;
    this.pauses = pauses;
  }

  public List<Member> list(Deadline deadline) throws InterruptedException {
    Json answer = client.ask("/v3/cluster/member/list", Json.object().build(), Kind.READ, deadline);
    return members(answer);
  }

  /**
   * Adds one as a learner; returns all of them. Waits while another one learns, and until all that
   * are there have been connected for a few seconds, which etcd asks for.
   */
  public List<Member> addLearner(URI peer, Deadline deadline) throws InterruptedException {
    Json body =
        Json.object().put("peerURLs", List.of(peer.toString())).put("isLearner", true).build();
    try {
      return members(change("/v3/cluster/member/add", body, deadline));
    } catch (Refused e) {
      throw EtcdClient.refusal(e);
    }
  }

  private Json change(String path, Json body, Deadline deadline)
      throws Refused, InterruptedException {
    while (true) {
      try {
        return client.call(path, body, Kind.WRITE, deadline);
      } catch (Refused e) {
        if (NOT_NOW.stream().noneMatch(e.reason()::contains) || deadline.passed()) {
          throw e;
        }
        pauses.pause(STEP);
      }
    }
  }

  /** Lets a learner count for the majority; false when it has not got everything yet. */
  public boolean promote(String id, Deadline deadline) throws InterruptedException {
    try {
      Json _ = client.call("/v3/cluster/member/promote", id(id), Kind.WRITE, deadline);
      return true;
    } catch (Refused e) {
      if (e.reason().contains(NOT_READY)) {
        return false;
      }
      if (e.reason().contains("can only promote a learner member")) {
        return true; // it is none any more
      }
      throw EtcdClient.refusal(e);
    }
  }

  /** Removes a member, whose process ends by itself; waits as for a new one. */
  public void remove(String id, Deadline deadline) throws InterruptedException {
    try {
      Json _ = change("/v3/cluster/member/remove", id(id), deadline);
    } catch (Refused e) {
      if (!e.reason().contains("member not found")) {
        throw EtcdClient.refusal(e);
      }
    }
  }

  /** Lets another member lead; only the leader can be asked. */
  public void transferLeadership(String id, Deadline deadline) throws InterruptedException {
    Json _ =
        client.ask(
            "/v3/maintenance/transfer-leadership",
            Json.object().put("targetID", id).build(),
            Kind.WRITE,
            deadline);
  }

  public Status status(Deadline deadline) throws InterruptedException {
    Json answer = client.ask("/v3/maintenance/status", Json.object().build(), Kind.READ, deadline);
    return new Status(
        answer.at("version").string().orElse(""),
        answer.at("leader").string().orElse(""),
        answer.at("header").at("member_id").string().orElse(""),
        EtcdStore.number(answer.at("dbSize")),
        EtcdStore.number(answer.at("dbSizeInUse")));
  }

  /** Gives free space of the member's file back; it answers nobody meanwhile. */
  public void defragment(Deadline deadline) throws InterruptedException {
    Json _ = client.ask("/v3/maintenance/defragment", Json.object().build(), Kind.WRITE, deadline);
  }

  /** Writes everything to a stream, in the form that {@code etcdctl snapshot restore} reads. */
  public void snapshot(OutputStream out, Deadline deadline)
      throws IOException, InterruptedException {
    try (var lines =
        new BufferedReader(
            new InputStreamReader(
                client.stream("/v3/maintenance/snapshot", Json.object().build(), deadline),
                StandardCharsets.US_ASCII))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        Json result = JsonText.parse(line).at("result");
        if (result.isNull()) {
          throw new IOException("etcd ended the snapshot: " + line);
        }
        out.write(Base64.getDecoder().decode(result.at("blob").string().orElse("")));
        deadline.check("reading a snapshot of etcd");
      }
    } catch (Refused e) {
      throw EtcdClient.refusal(e);
    } catch (TimeoutException _) {
      throw new AgentException.Timeout("asking etcd for a snapshot", deadline.limit());
    }
  }

  /** Throws when etcd refuses a snapshot, which nobody can be told once it is being written. */
  public void checkSnapshot(Deadline deadline) throws IOException, InterruptedException {
    try (var lines =
        new BufferedReader(
            new InputStreamReader(
                client.stream("/v3/maintenance/snapshot", Json.object().build(), deadline),
                StandardCharsets.US_ASCII))) {
      String line = lines.readLine();
      if (line == null || JsonText.parse(line).at("result").isNull()) {
        throw refusedSnapshot(String.valueOf(line), new IOException("etcd ended the snapshot"));
      }
    } catch (Refused e) {
      throw refusedSnapshot(e.reason(), e);
    } catch (TimeoutException _) {
      throw new AgentException.Timeout("asking etcd for a snapshot", deadline.limit());
    }
  }

  private static AgentException refusedSnapshot(String reason, Exception cause) {
    return new AgentException.Network(
        ("etcd refuses a snapshot (%s); when its user has not got the role root, let somebody who"
                + " has run 'etcdctl snapshot save'")
            .formatted(reason),
        cause);
  }

  private static Json id(String id) {
    return Json.object().put("ID", id).build();
  }

  private static List<Member> members(Json answer) {
    return answer.at("members").items().stream()
        .map(
            member ->
                new Member(
                    member.at("ID").string().orElse(""),
                    member.at("name").string().orElse(""),
                    urls(member.at("peerURLs")),
                    urls(member.at("clientURLs")),
                    member.at("isLearner").bool().orElse(false)))
        .toList();
  }

  private static List<URI> urls(Json urls) {
    return urls.strings().stream().map(URI::create).toList();
  }
}
