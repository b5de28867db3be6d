package dev.zlayer.cluster.member;

import dev.zlayer.cluster.schedule.NodeFacts.Status;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A node as the cluster knows it, whether it is alive or not.
 *
 * @param labels set by the operator
 * @param scheduling whether it gets replicas and keeps them; ready when absent
 */
public record NodeRecord(
    String id,
    String name,
    String address,
    boolean server,
    Instant joined,
    Map<String, String> labels,
    Optional<Status> scheduling) {
  public NodeRecord(
      String id,
      String name,
      String address,
      boolean server,
      Instant joined,
      Map<String, String> labels) {
    this(id, name, address, server, joined, labels, Optional.empty());
  }

  public NodeRecord {
    labels = Map.copyOf(labels);
  }

  /**
   * What a node that is alive says about itself; ends with its lease.
   *
   * @param platforms what its runtimes serve
   * @param gpus names of GPUs
   * @param agent version of its agent
   */
  public record Facts(
      int cpus,
      long memoryBytes,
      List<String> platforms,
      List<String> runtimes,
      List<String> gpus,
      String agent) {
    public Facts {
      platforms = List.copyOf(platforms);
      runtimes = List.copyOf(runtimes);
      gpus = List.copyOf(gpus);
    }

    /** Reads them anew. */
    @FunctionalInterface
    public interface Source {
      Facts read() throws InterruptedException;
    }

    String text() {
      return JsonText.print(RecordJson.write(this));
    }

    public static Facts parse(String text) {
      return RecordJson.read(JsonText.parse(text), Facts.class);
    }
  }

  String text() {
    return JsonText.print(RecordJson.write(this));
  }

  public static NodeRecord parse(String text) {
    return RecordJson.read(JsonText.parse(text), NodeRecord.class);
  }

  NodeRecord with(Map<String, String> labels) {
    return new NodeRecord(id, name, address, server, joined, labels, scheduling);
  }

  NodeRecord with(Status status) {
    return new NodeRecord(id, name, address, server, joined, labels, Optional.of(status));
  }

  /** Whether it gets replicas and keeps them. */
  public Status status() {
    return scheduling.orElse(Status.READY);
  }
}
