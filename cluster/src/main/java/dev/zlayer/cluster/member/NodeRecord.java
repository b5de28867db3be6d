package dev.zlayer.cluster.member;

import dev.zlayer.cluster.schedule.NodeFacts;
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
   * @param devices the same GPUs with what the scheduler asks for; an older agent names none
   */
  public record Facts(
      int cpus,
      long memoryBytes,
      List<String> platforms,
      List<String> runtimes,
      List<String> gpus,
      String agent,
      List<NodeFacts.Gpu> devices) {
    /** Of a node that is alive, and whose facts are not to be understood here. */
    public static final Facts UNREADABLE =
        new Facts(0, 0, List.of(), List.of(), List.of(), "?", List.of());

    public Facts {
      platforms = List.copyOf(platforms);
      runtimes = List.copyOf(runtimes);
      gpus = List.copyOf(gpus);
      devices = List.copyOf(devices);
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
