package dev.zlayer.testkit.cluster;

import dev.zlayer.json.Json;
import java.io.IOException;
import java.util.List;

/** What can happen to a cluster. All of it ends with {@link TestCluster#heal}. */
public enum Fault {
  AGENT_KILLED(false) {
    @Override
    void begin(TestCluster cluster, TestNode node) throws InterruptedException {
      node.killAgent();
    }
  },
  AGENT_STOPPED(false) {
    @Override
    void begin(TestCluster cluster, TestNode node) throws InterruptedException {
      node.signalAgent("STOP");
    }
  },
  /** The node, and not only the agent. */
  NODE_KILLED(false) {
    @Override
    void begin(TestCluster cluster, TestNode node) throws IOException, InterruptedException {
      node.killAgent();
      node.signalEtcd("KILL");
      cluster.cable(node, false);
    }
  },
  ETCD_KILLED(true) {
    @Override
    void begin(TestCluster cluster, TestNode node) throws InterruptedException {
      node.signalEtcd("KILL");
    }
  },
  ETCD_LEADER_KILLED(true) {
    @Override
    void begin(TestCluster cluster, TestNode node) throws InterruptedException {
      leader(cluster, node).signalEtcd("KILL");
    }
  },
  ETCD_STOPPED(true) {
    @Override
    void begin(TestCluster cluster, TestNode node) throws InterruptedException {
      node.signalEtcd("STOP");
    }
  },
  ETCD_LEADER_STOPPED(true) {
    @Override
    void begin(TestCluster cluster, TestNode node) throws InterruptedException {
      leader(cluster, node).signalEtcd("STOP");
    }
  },
  QUORUM_LOST(true) {
    @Override
    void begin(TestCluster cluster, TestNode node) throws InterruptedException {
      for (TestNode other : cluster.nodes()) {
        if (other != node) {
          other.signalEtcd("STOP");
        }
      }
    }
  },
  LINK_DOWN(false) {
    @Override
    void begin(TestCluster cluster, TestNode node) throws InterruptedException {
      cluster.cable(node, false);
    }
  },
  /** It hears nobody, and is heard. */
  ONE_WAY_IN(false) {
    @Override
    void begin(TestCluster cluster, TestNode node) throws InterruptedException {
      cluster.drop(node, "input", "iifname eth0");
    }
  },
  /** It hears all, and nobody hears it. */
  ONE_WAY_OUT(false) {
    @Override
    void begin(TestCluster cluster, TestNode node) throws InterruptedException {
      cluster.drop(node, "output", "oifname eth0");
    }
  },
  /** Two nodes do not reach each other; all others reach both. */
  PARTIAL(false) {
    @Override
    void begin(TestCluster cluster, TestNode node) throws InterruptedException {
      List<TestNode> nodes = cluster.nodes();
      String other = nodes.get((nodes.indexOf(node) + 1) % nodes.size()).address();
      cluster.drop(node, "input", "ip saddr " + other);
      cluster.drop(node, "output", "ip daddr " + other);
    }
  },
  DISK_FROZEN(false) {
    @Override
    void begin(TestCluster cluster, TestNode node) throws InterruptedException {
      cluster.freeze(node);
    }
  },
  DISK_FULL(false) {
    @Override
    void begin(TestCluster cluster, TestNode node) throws InterruptedException {
      cluster.fill(node);
    }
  };

  private final boolean steady;

  Fault(boolean steady) {
    this.steady = steady;
  }

  /** Whether no container may end for it: nothing happens to nodes and agents. */
  public boolean steady() {
    return steady;
  }

  /** Whether it needs a node with a file system of its own. */
  boolean ofDisk() {
    return this == DISK_FROZEN || this == DISK_FULL;
  }

  /** Whether it needs a node that stores the state. */
  boolean ofEtcd() {
    return steady;
  }

  abstract void begin(TestCluster cluster, TestNode node) throws IOException, InterruptedException;

  /** The node that leads etcd, or the given one when that is unknown. */
  public static TestNode leader(TestCluster cluster, TestNode otherwise)
      throws InterruptedException {
    for (Json server : otherwise.get("/cluster").at("servers").items()) {
      if (server.at("role").string().filter("leader"::equals).isPresent()) {
        String address = server.at("address").string().orElse("");
        return cluster.nodes().stream()
            .filter(node -> node.address().equals(address))
            .findFirst()
            .orElse(otherwise);
      }
    }
    return otherwise;
  }
}
