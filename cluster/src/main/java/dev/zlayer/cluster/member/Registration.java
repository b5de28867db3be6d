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
import dev.zlayer.task.LazyLogger;
import dev.zlayer.task.Owner;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongConsumer;

/**
 * Keeps this node alive in the cluster: its lease with what it says about itself, which is read
 * again from time to time, its member of etcd running and counted, and the addresses of all members
 * known. When no member answers, it tries again; nothing on this node ends for that.
 */
final class Registration implements Owner.State {
  private static final System.Logger LOG = LazyLogger.of(Registration.class);

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

  /** Work on another thread, of which this state is told. */
  @FunctionalInterface
  interface Beside {
    void run(
        Owner.Work<Registration> work, Function<AgentException, Consumer<Registration>> failed);

    static Beside of(Owner<Registration> owner) {
      return (work, failed) -> {
        var _ = owner.spawn("what this node has", work, failed);
      };
    }
  }

  private static final Duration QUESTION = Duration.ofSeconds(5);

  /** What a node has changes while its agent runs: a driver is installed, a GPU fails. */
  static final Duration FACTS = Duration.ofSeconds(30);

  private final NodeIdentity identity;
  private final ClusterStore store;
  private final Optional<EtcdMembers> members;
  private final Optional<EtcdServer> server;
  private final NodeRecord.Facts.Source facts;
  private final Consumer<List<URI>> endpoints;
  private final RemovedQuestion dismissed;
  private final LongConsumer leases;
  private final Beside beside;
  private final Duration factsEvery;
  private Deadline nextQuestion = Deadline.after(Duration.ZERO);
  private long lease;
  private Deadline nextLook = Deadline.after(Duration.ZERO);
  private boolean counted;
  private boolean wasRemoved;
  private long memberSince;
  private String written = "";
  private Optional<String> changed = Optional.empty();
  private boolean reading;
  private Deadline nextReading = Deadline.after(Duration.ZERO);
  private String unreadable = "";
  private volatile Optional<String> problem = Optional.of("it has not reached the cluster yet");

  /**
   * Does nothing before its owner starts.
   *
   * @param members absent when others run etcd
   * @param beside runs what may take long on a thread of its own
   * @param factsEvery how often it is read again what this node has
   */
  Registration(
      NodeIdentity identity,
      ClusterStore store,
      Optional<EtcdMembers> members,
      Optional<EtcdServer> server,
      NodeRecord.Facts.Source facts,
      Consumer<List<URI>> endpoints,
      RemovedQuestion dismissed,
      LongConsumer leases,
      Beside beside,
      Duration factsEvery) {
    this.identity = identity;
    this.store = store;
    this.members = members;
    this.server = server;
    this.facts = facts;
    this.endpoints = endpoints;
    this.dismissed = dismissed;
    this.leases = leases;
    this.beside = beside;
    this.factsEvery = factsEvery;
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
      if (members.isPresent() && (!counted || nextLook.passed())) {
        look(members.get());
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
      followFacts();
      return;
    }
    lease = 0;
    leases.accept(0);
    changed = Optional.empty();
    String own = facts.read().text(); // asks programs of the host: may outlast the lease
    Deadline deadline = Deadline.after(LIMIT);
    Entry member =
        store.find(StoreKeys.member(identity.id()), deadline).orElseThrow(Registration::removed);
    String alive = StoreKeys.alive(identity.id());
    // one that nobody answered may be made later, and would end with its own lease
    Condition unchanged =
        store
            .find(alive, deadline)
            .<Condition>map(entry -> new Condition.Unchanged(alive, entry.modified()))
            .orElseGet(() -> new Condition.Absent(alive));
    long granted = store.grant(LEASE, deadline);
    boolean registered =
        store
            .transact(
                List.of(new Condition.Created(member.key(), member.created()), unchanged),
                List.of(new Change.Put(alive, own, granted)),
                deadline)
            .applied();
    if (!registered) {
      boolean belongs =
          store
              .find(member.key(), deadline)
              .filter(entry -> entry.created() == member.created())
              .isPresent();
      throw belongs
          ? new AgentException.Network("an earlier registration of this node came in between")
          : removed();
    }
    memberSince = member.created();
    written = own;
    nextReading = Deadline.after(factsEvery);
    lease = granted;
    leases.accept(granted);
  }

  /** Read beside the renewals, which cannot wait for programs of the host. */
  private void followFacts() throws InterruptedException {
    if (changed.isPresent() && (changed.get().equals(written) || write(changed.get()))) {
      changed = Optional.empty();
    }
    if (!reading && nextReading.passed()) {
      reading = true;
      long under = lease;
      beside.run(
          () -> {
            String now = facts.read().text();
            return state -> state.read(now, under);
          },
          failure -> state -> state.unread(failure));
    }
  }

  /** One that is made late must not replace what was registered since. */
  private boolean write(String now) throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    Optional<Entry> own =
        store
            .find(StoreKeys.alive(identity.id()), deadline)
            .filter(entry -> entry.lease() == lease);
    boolean made =
        own.isPresent()
            && store
                .transact(
                    List.of(
                        new Condition.Created(StoreKeys.member(identity.id()), memberSince),
                        new Condition.Unchanged(own.get().key(), own.get().modified())),
                    List.of(new Change.Put(own.get().key(), now, lease)),
                    deadline)
                .applied();
    if (made) {
      written = now;
    }
    return made;
  }

  /** What was read before this node registered anew is older than what it wrote then. */
  private void read(String now, long under) {
    reading = false;
    nextReading = Deadline.after(factsEvery);
    changed = Optional.of(now).filter(_ -> under == lease);
    unreadable = "";
  }

  /** The cluster keeps what it was last; the same reason is logged once. */
  private void unread(AgentException failure) {
    reading = false;
    nextReading = Deadline.after(factsEvery);
    String reason = String.valueOf(failure.getMessage());
    if (!reason.equals(unreadable)) {
      unreadable = reason;
      LOG.log(System.Logger.Level.WARNING, "cannot read again what this node has: " + reason);
    }
  }

  private static AgentException removed() {
    return new AgentException.Conflict(
        "this node was removed from the cluster; run 'zlayer cluster leave --force' on it");
  }

  /** Before long: those who store the state may be others. */
  void lookAgain() {
    nextLook = Deadline.after(Duration.ZERO);
  }

  /**
   * Who stores the state, and whether this node counts among them yet. While somebody does not, it
   * is asked in every round: a node that knows too few of them is cut off when these are lost.
   */
  private void look(EtcdMembers members) throws InterruptedException {
    Deadline deadline = Deadline.after(LIMIT);
    List<Member> all = members.list(deadline);
    var reachable = new ArrayList<URI>();
    boolean complete = true;
    for (Member member : all) {
      boolean own = server.isPresent() && member.peers().contains(identity.peer());
      boolean counts = !member.learner() || (own && members.promote(member.id(), deadline));
      counted = own ? counts : counted;
      complete = complete && counts;
      if (counts) {
        reachable.addAll(own ? List.of(identity.client()) : member.clients());
      }
    }
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
    nextLook = Deadline.after(complete ? MEMBERS : Duration.ZERO);
  }
}
