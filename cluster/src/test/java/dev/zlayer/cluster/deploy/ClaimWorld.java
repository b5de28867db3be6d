package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.Desired.Assignment;
import dev.zlayer.cluster.member.NodeRecord;
import dev.zlayer.cluster.member.StoreKeys;
import dev.zlayer.cluster.store.ClusterStore;
import dev.zlayer.cluster.store.ClusterStore.Change;
import dev.zlayer.cluster.store.ClusterStore.Condition;
import dev.zlayer.cluster.store.Election;
import dev.zlayer.cluster.store.MemoryClusterStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.task.Deadline;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.Set;

/**
 * Nodes with clocks of their own and one store, in simulated time. Messages are lost, answers are
 * lost, requests are carried out long after their sender has given up; agents hang in the middle of
 * a request and end at any time, leaders change, and assignments name any node. Only what a real
 * watchdog does is done for sure: within a second of its machine's clock it ends what has no time
 * left.
 */
final class ClaimWorld {
  private static final int NODES = 3;
  private static final long STOP = 20;
  private static final String CLAIM = "shop/web";
  private static final String FACTS =
      JsonText.print(
          RecordJson.write(
              new NodeRecord.Facts(4, 8L << 30, List.of(), List.of(), List.of(), "1", List.of())));

  private static final String FILE =
      """
      version: v1
      deployment: shop
      services:
        web: {image: {name: web}, single_instance: true}
      """;

  private final Random random;
  private MemoryClusterStore store = new MemoryClusterStore();
  private MemoryClusterStore backup = new MemoryClusterStore();
  private final List<Machine> machines = new ArrayList<>();
  private final List<Delayed> delayed = new ArrayList<>();
  private long now = 1_000_000;
  private boolean watchdogs = true;
  private boolean patient = true;
  private boolean hostile;
  private long quorumLostUntil;
  private int starts;
  private Machine leader;
  private ClaimExpiry expiry;
  private Election.Term term;

  /** A request that is on its way. */
  private record Delayed(long at, List<Condition> conditions, List<Change> changes) {}

  /** A node, with what of it outlives its agent. */
  private final class Machine implements NodeClaims.Node {
    final int number;
    final String id;
    final double rate;
    final long offset;
    boolean cut;
    long hangsUntil;
    boolean dead;
    boolean running;
    long until;
    long checked;
    ClusterState known;
    NodeClaims claims;

    Machine(int number) {
      this.number = number;
      this.id = "n" + number;
      this.rate = 0.99 + 0.01 * number;
      this.offset = 10_000_000L * number;
      start();
    }

    void start() {
      dead = false;
      hangsUntil = 0;
      claims = new NodeClaims(reached(this), this::state, id, () -> 1, this, STOP);
    }

    ClusterState state() throws InterruptedException {
      if (cut || !quorum()) {
        throw new AgentException.Network("cut off");
      }
      if (known == null || !hostile || random.nextInt(3) > 0) {
        known = ClusterState.read(store, limit());
      }
      return known;
    }

    boolean assigned() {
      return known != null && known.assignments().containsKey(new ClusterState.Place(id, "shop"));
    }

    void round() throws InterruptedException {
      if (dead || now < hangsUntil) {
        return;
      }
      var _ = claims.round();
      if (!running && assigned() && bootMillis() < until) {
        running = true;
        starts++;
      } else if (running && !assigned()) {
        running = false;
      }
    }

    void watch() {
      if (bootMillis() - checked >= 1000) {
        checked = bootMillis();
        running &= !watchdogs || checked < until;
      }
    }

    @Override
    public long bootMillis() {
      return offset + (long) (now * rate);
    }

    @Override
    public void extend(String claim, long untilMillis, Duration stop) {
      until = untilMillis;
    }

    @Override
    public void remove(String claim) {
      until = 0;
    }

    @Override
    public Set<String> present() {
      return running ? Set.of(CLAIM) : Set.of();
    }

    @Override
    public void endUnwatched() {
      // the watchdogs here cannot be ended
    }
  }

  ClaimWorld(long seed) {
    this.random = new Random(seed);
    put(StoreKeys.DESIRED + "shop", desired());
    put(
        StoreKeys.file("shop", 1),
        new Desired.File("shop", 1, Instant.EPOCH, "up", "/", FILE).json());
    for (int i = 0; i < NODES; i++) {
      machines.add(new Machine(i));
    }
    lead(machines.get(NODES - 1));
  }

  private static String desired() {
    return new Desired(
            "shop", 1, Instant.EPOCH, Instant.EPOCH, Map.of(), List.of(), Optional.empty())
        .json();
  }

  ClaimWorld withoutWatchdogs() {
    watchdogs = false;
    return this;
  }

  ClaimWorld impatient() {
    patient = false;
    return this;
  }

  long now() {
    return now;
  }

  int starts() {
    return starts;
  }

  List<Integer> running() {
    return machines.stream().filter(one -> one.running).map(one -> one.number).toList();
  }

  ClaimWorld assign(int node) {
    for (Machine one : machines) {
      String key = new ClusterState.Place(one.id, "shop").assignment();
      if (one.number == node) {
        put(key, new Assignment(1, Map.of("web", List.of(1)), Optional.empty()).json());
      } else {
        change(List.of(), List.of(new Change.Delete(key)));
      }
    }
    return this;
  }

  ClaimWorld cut(int node, boolean cut) {
    machines.get(node).cut = cut;
    return this;
  }

  private boolean quorum() {
    return now >= quorumLostUntil;
  }

  /** Nobody reads or changes anything for that time. */
  ClaimWorld loseQuorum(long millis) {
    quorumLostUntil = now + millis;
    return this;
  }

  ClaimWorld backUp() {
    backup = new MemoryClusterStore(store);
    return this;
  }

  /** The majority is lost for good; the store begins anew with the backup after that time. */
  void restore(long millis) throws InterruptedException {
    loseQuorum(millis).run(millis - 100);
    store = backup;
    machines.forEach(one -> one.known = null);
    lead(leader);
  }

  /** The revision that made the claim. */
  long claimed() {
    return store.find(StoreKeys.CLAIMS + CLAIM, limit()).orElseThrow().created();
  }

  /** Gives the claim to a node, by that revision. */
  void claim(int node, long revision) {
    change(List.of(), List.of(new Change.Delete(StoreKeys.CLAIMS + CLAIM)));
    while (store.list(StoreKeys.CLAIMS, limit()).revision() < revision - 1) {
      put("other", "");
    }
    put(StoreKeys.CLAIMS + CLAIM, new ClusterClaim(machines.get(node).id, STOP).json());
    if (claimed() != revision) {
      throw new IllegalStateException("the store has passed revision " + revision);
    }
  }

  /** As {@link #assign}, and the others keep what they have. */
  void assignToo(int node) {
    put(assignment(machines.get(node)), new Assignment(1, web(), Optional.empty()).json());
  }

  /** Without an agent for that time. */
  void restart(int node, long millis) throws InterruptedException {
    machines.get(node).dead = true;
    run(millis);
    machines.get(node).start();
  }

  /** Without further faults. */
  void run(long millis) throws InterruptedException {
    for (long end = now + millis; now < end; ) {
      advance(100);
      everybody();
    }
  }

  /** Something happens, and time passes. */
  void step() throws InterruptedException {
    hostile = true;
    Machine one = machines.get(random.nextInt(NODES));
    switch (random.nextInt(40)) {
      case 0, 1 -> one.cut = !one.cut;
      case 2 -> one.hangsUntil = now + random.nextInt(60_000);
      case 3 -> one.dead = true;
      case 4, 5, 6 -> one.start();
      case 7 -> {
        if (quorum()) {
          lead(one);
        }
      }
      case 8, 9 -> assign(random.nextInt(NODES));
      case 10 -> put(assignment(one), new Assignment(1, web(), Optional.empty()).json());
      case 11 -> {
        if (random.nextInt(4) == 0) {
          loseQuorum(random.nextInt(90_000));
        }
      }
      default -> {
        // time alone
      }
    }
    advance(random.nextInt(700));
    everybody();
  }

  private static Map<String, List<Integer>> web() {
    return Map.of("web", List.of(1));
  }

  private static String assignment(Machine of) {
    return new ClusterState.Place(of.id, "shop").assignment();
  }

  private void everybody() throws InterruptedException {
    for (Machine one : quorum() ? machines : List.<Machine>of()) {
      boolean lives = !one.cut && !one.dead && now >= one.hangsUntil;
      if (!lives) {
        change(List.of(), List.of(new Change.Delete(StoreKeys.alive(one.id))));
      } else if (store.find(StoreKeys.alive(one.id), limit()).isEmpty()) {
        put(StoreKeys.alive(one.id), FACTS);
      }
    }
    for (Machine one : machines) {
      one.round();
      check();
    }
    if (!leader.cut && !leader.dead && now >= leader.hangsUntil) {
      try {
        expiry.run(ClusterState.read(store, limit()), term);
      } catch (AgentException _) {
        // as a leader does: the next round
      }
    }
    check();
  }

  private void lead(Machine next) {
    leader = next;
    change(List.of(), List.of(new Change.Delete(StoreKeys.LEADER)));
    put(StoreKeys.LEADER, next.id);
    term =
        new Election.Term(
            StoreKeys.LEADER,
            next.id,
            store.find(StoreKeys.LEADER, limit()).orElseThrow().created());
    expiry =
        new ClaimExpiry(reached(next), () -> patient ? next.bootMillis() : next.bootMillis() * 4);
  }

  /** What nobody can stop: time, watchdogs, and messages that are on their way. */
  private void advance(long millis) {
    for (long end = now + millis; now < end; ) {
      now = Math.min(end, now + 100);
      machines.forEach(Machine::watch);
      for (Delayed one : List.copyOf(delayed)) {
        if (one.at() <= now) {
          delayed.remove(one);
          change(one.conditions(), one.changes());
        }
      }
      check();
    }
  }

  private void check() {
    if (running().size() > 1) {
      throw new AssertionError("at " + now + " it runs on " + running());
    }
  }

  /** The store as a machine reaches it. */
  private ClusterStore reached(Machine from) {
    return (ClusterStore)
        Proxy.newProxyInstance(
            ClusterStore.class.getClassLoader(),
            new Class<?>[] {ClusterStore.class},
            (_, method, arguments) -> {
              if (from.cut || !quorum()) {
                throw new AgentException.Network("cut off");
              }
              boolean changes = method.getName().equals("transact");
              int fate = hostile ? random.nextInt(60) : 60;
              if (changes && fate == 0) {
                later(arguments);
                throw new AgentException.Timeout("a change", Duration.ofSeconds(5));
              }
              if (fate == 1) {
                hang(from); // before it is sent
              }
              Object result;
              try {
                result = method.invoke(store, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
              if (fate == 2) {
                hang(from); // before it has the answer
              }
              if (fate == 3) {
                throw new AgentException.Timeout("an answer", Duration.ofSeconds(5));
              }
              return result;
            });
  }

  /** Its agent, while everybody else continues. */
  private void hang(Machine agent) throws InterruptedException {
    hostile = false;
    agent.hangsUntil = Long.MAX_VALUE;
    for (long end = now + random.nextInt(60_000); now < end; ) {
      advance(500);
      everybody();
    }
    agent.hangsUntil = 0;
    hostile = true;
  }

  @SuppressWarnings("unchecked")
  private void later(Object[] arguments) {
    delayed.add(
        new Delayed(
            now + random.nextInt(90_000),
            (List<Condition>) Objects.requireNonNull(arguments[0]),
            (List<Change>) Objects.requireNonNull(arguments[1])));
  }

  private void put(String key, String value) {
    change(List.of(), List.of(new Change.Put(key, value)));
  }

  private void change(List<Condition> conditions, List<Change> changes) {
    var _ = store.transact(conditions, changes, limit());
  }

  private static Deadline limit() {
    return Deadline.after(Duration.ofSeconds(5));
  }
}
