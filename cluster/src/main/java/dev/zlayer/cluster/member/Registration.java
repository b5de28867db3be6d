package dev.zlayer.cluster.member;

import dev.zlayer.cluster.etcd.EtcdMembers;
import dev.zlayer.cluster.etcd.EtcdMembers.Member;
import dev.zlayer.cluster.etcd.EtcdServer;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.ClusterStore.Entry;
import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Owner;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/**
 * Keeps this node alive in the cluster: its lease with what it says about itself, its member of
 * etcd running and counted, and the addresses of all members known. When no member answers, it
 * tries again; nothing on this node ends for that.
 */
final class Registration implements Owner.State {
  /** A node that does not renew it for so long is lost. */
  static final Duration LEASE = Duration.ofSeconds(5);

  private static final Duration ROUND = Duration.ofMillis(1500);
  private static final Duration LIMIT = Duration.ofSeconds(4);

  /** Members of etcd change rarely. */
  private static final Duration MEMBERS = Duration.ofSeconds(15);

  /** Whether other nodes say that this one was removed. */
  @FunctionalInterface
  interface RemovedQuestion {
    boolean ask() throws InterruptedException;
  }

  private static final Duration QUESTION = Duration.ofSeconds(5);

  private final NodeIdentity identity;
  private final ClusterStore store;
  private final EtcdMembers members;
  private final Optional<EtcdServer> server;
  private final NodeRecord.Facts.Source facts;
  private final Consumer<List<URI>> endpoints;
  private final RemovedQuestion dismissed;
  private final LongConsumer leases;
  private Deadline nextQuestion = Deadline.after(Duration.ZERO);
  private long lease;
  private Deadline nextLook = Deadline.after(Duration.ZERO);
  private boolean counted;
  private boolean wasRemoved;
  private volatile Optional<String> problem = Optional.of("it has not reached the cluster yet");

  Registration(
      NodeIdentity identity,
      ClusterStore store,
      EtcdMembers members,
      Optional<EtcdServer> server,
      NodeRecord.Facts.Source facts,
      Consumer<List<URI>> endpoints,
      RemovedQuestion dismissed,
      LongConsumer leases) {
    this.identity = identity;
    this.store = store;
    this.members = members;
    this.server = server;
    this.facts = facts;
    this.endpoints = endpoints;
    this.dismissed = dismissed;
    this.leases = leases;
    this.counted = server.isEmpty();
  }

  /** Why this node is not registered at the moment. */
  Optional<String> problem() {
    return problem;
  }

  @Override
  public Duration round() throws InterruptedException {
    try {
      if (server.isPresent() && !server.get().running()) {
        server.get().start();
      }
      register();
      if (!counted || nextLook.passed()) {
        look();
      }
      problem =
          counted ? Optional.empty() : Optional.of("its copy of the state is not complete yet");
    } catch (AgentException.Network | AgentException.Timeout e) {
      problem = Optional.of(String.valueOf((wasRemoved() ? removed() : e).getMessage()));
    } catch (AgentException e) {
      problem = Optional.of(String.valueOf(e.getMessage()));
    }
    return ROUND;
  }

  private boolean wasRemoved() throws InterruptedException {
    if (nextQuestion.passed()) {
      wasRemoved = dismissed.ask();
      nextQuestion = Deadline.after(QUESTION);
    }
    return wasRemoved;
  }

  private void register() throws InterruptedException {
    if (lease != 0 && store.keepAlive(lease, Deadline.after(LIMIT))) {
      return;
    }
    lease = 0;
    leases.accept(0);
    String own = facts.read().text(); // asks programs of the host: may outlast the lease
    Deadline deadline = Deadline.after(LIMIT);
    Entry member =
        store.find(Keys.member(identity.id()), deadline).orElseThrow(Registration::removed);
    long granted = store.grant(LEASE, deadline);
    boolean registered =
        store
            .transact(
                List.of(new Condition.Created(member.key(), member.created())),
                List.of(new Change.Put(Keys.alive(identity.id()), own, granted)),
                deadline)
            .applied();
    if (!registered) {
      throw removed(); // since it was asked for
    }
    lease = granted;
    leases.accept(granted);
  }

  private static AgentException removed() {
    return new AgentException.Conflict(
        "this node was removed from the cluster; run 'zlayer cluster leave --force' on it");
  }

  /** Who stores the state, and whether this node counts among them yet. */
  private void look() throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    List<Member> all = members.list(deadline);
    for (Member member : all) {
      if (server.isPresent() && member.peers().contains(identity.peer())) {
        counted = !member.learner() || members.promote(member.id(), deadline);
      }
    }
    List<URI> reachable =
        all.stream()
            .filter(member -> !member.learner())
            .flatMap(member -> member.clients().stream())
            .toList();
    if (!reachable.isEmpty()) {
      endpoints.accept(reachable);
    }
    if (server.isPresent()) {
      try {
        server.get().trimLog();
      } catch (java.io.IOException e) {
        throw new AgentException.Configuration(
            "cannot empty the log of etcd: " + e.getMessage(), e);
      }
    }
    nextLook = Deadline.after(MEMBERS);
  }
}
