package dev.zlayer.testkit.cluster;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * What happens when, from a seed: the same seed gives the same rounds. Every kind of fault is had
 * before one of them comes again. Pure.
 */
public final class FaultPlan {
  private static final int SERVERS = 3;
  private static final int SHORTEST = 4;
  private static final int LONGEST = 16;
  private static final int MOST_REPLICAS = 5;

  private final Random random;
  private final int nodes;
  private final boolean disk;
  private final List<Fault> bag = new ArrayList<>();
  private int requests;

  /** A request to the cluster, through one of its nodes. */
  public sealed interface Operation {
    /** Counted from 1. */
    int node();

    /** Runs a job that writes and prints this key, and ends with this code. */
    record RunJob(int node, String key, int seconds, int code) implements Operation {}

    /** Scales a service. */
    record Scale(int node, int replicas) implements Operation {}

    /** Applies another revision of it. */
    record Update(int node, int step) implements Operation {}

    /** Applies or removes another deployment. */
    record Toggle(int node, boolean present) implements Operation {}

    /** Stops or starts it. */
    record Switch(int node, boolean running) implements Operation {}

    /**
     * Applies another revision of the single instance.
     *
     * @param place the node that may run it, counted from 1; any when 0
     */
    record Move(int node, int step, int place) implements Operation {}
  }

  /**
   * One round.
   *
   * @param node that it happens to, counted from 1
   * @param length of the fault; the operations are spread over it
   */
  public record Round(Fault fault, int node, Duration length, List<Operation> operations) {
    public Round {
      operations = List.copyOf(operations);
    }

    @Override
    public String toString() {
      return "%s of node %d for %d s".formatted(fault, node, length.toSeconds());
    }
  }

  /**
   * Plans for a cluster.
   *
   * @param disk whether the last node has a file system of its own
   */
  public FaultPlan(long seed, int nodes, boolean disk) {
    this.random = new Random(seed);
    this.nodes = nodes;
    this.disk = disk;
  }

  public Round next() {
    if (bag.isEmpty()) {
      for (Fault fault : Fault.values()) {
        if (disk || !fault.ofDisk()) {
          bag.add(fault);
        }
      }
      Collections.shuffle(bag, random);
    }
    Fault fault = bag.removeLast();
    int node = 1 + random.nextInt(fault.ofEtcd() ? Math.min(SERVERS, nodes) : nodes);
    Duration length = length();
    var operations = new ArrayList<Operation>();
    int count = 4 + random.nextInt(5);
    for (int i = 0; i < count; i++) {
      operations.add(operation(1 + random.nextInt(nodes)));
    }
    return new Round(fault, fault.ofDisk() ? nodes : node, length, operations);
  }

  /** One of three is so long that a single instance is started on another node. */
  private Duration length() {
    int seconds = SHORTEST + random.nextInt(LONGEST - SHORTEST + 1);
    return Duration.ofSeconds(random.nextInt(3) == 0 ? LONGEST + seconds : seconds);
  }

  private Operation operation(int node) {
    requests++;
    return switch (random.nextInt(10)) {
      case 0, 1 -> new Operation.Scale(node, 1 + random.nextInt(MOST_REPLICAS));
      case 2 -> new Operation.Update(node, requests);
      case 3 -> new Operation.Toggle(node, random.nextBoolean());
      case 4 -> new Operation.Switch(node, random.nextBoolean());
      case 5 -> new Operation.Move(node, requests, random.nextInt(nodes + 1));
      default ->
          new Operation.RunJob(
              node, "key" + requests, random.nextInt(4), random.nextInt(3) == 0 ? 3 : 0);
    };
  }
}
