package dev.zlayer.daemon.rest.cluster;

import dev.zlayer.cluster.deploy.ClusterEventLog;
import dev.zlayer.cluster.deploy.ClusterEventLog.Happened;
import dev.zlayer.cluster.deploy.NodeShares.Peer;
import dev.zlayer.daemon.cluster.ClusterNode;
import dev.zlayer.daemon.cluster.ClusterNode.Member;
import dev.zlayer.daemon.cluster.PeerLines;
import dev.zlayer.daemon.cluster.Peers;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.RouteHandler;
import dev.zlayer.daemon.rest.cluster.EventMerge.Part;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The events of all nodes of a cluster, and those of the cluster itself. A reader continues with a
 * token that has its place in the events of each node, so that none comes twice, and those of a
 * node that was away come when it is back.
 */
final class ClusterEvents {
  private static final int PAGE = 500;
  private static final int LARGEST_PAGE = 10 * PAGE;
  private static final Duration HEARTBEAT = Duration.ofSeconds(15);
  private static final Duration LONG_POLL = Duration.ofSeconds(30);

  /** Longer than between two heartbeats of another node. */
  private static final Duration SILENCE = Duration.ofSeconds(40);

  /** What is shown as the node of what concerns all. */
  private static final String ALL = "-";

  /** Named where nodes are that do not answer; no name of a node. */
  private static final String STATE = "state of the cluster";

  private final ClusterNode node;
  private final Member member;
  private final RouteHandler local;
  private final ApiRequest call;
  private final Optional<String> deployment;
  private final Optional<String> kind;
  private final OptionalInt last;

  private ClusterEvents(ClusterNode node, Member member, RouteHandler local, ApiRequest call) {
    this.node = node;
    this.member = member;
    this.local = local;
    this.call = call;
    this.deployment = call.query("deployment");
    this.kind = call.query("kind");
    this.last = call.number("last");
  }

  /** Whether the caller has a place in the events of several nodes. */
  static boolean continues(ApiRequest call) {
    return !call.fromNode()
        && !call.flag("local", false)
        && since(call).filter(text -> !EventPositions.single(text)).isPresent();
  }

  private static Optional<String> since(ApiRequest call) {
    return call.header("Last-Event-ID").or(() -> call.query("since"));
  }

  static ApiResponse answer(ClusterNode node, Member member, RouteHandler local, ApiRequest call)
      throws InterruptedException {
    Optional<String> since = since(call);
    if (since.filter(EventPositions::single).isPresent()) {
      return local.answer(call); // as before there was a cluster
    }
    var events = new ClusterEvents(node, member, local, call);
    EventPositions from = since.map(EventPositions::parse).orElse(EventPositions.NONE);
    OptionalInt last = since.isPresent() ? OptionalInt.empty() : events.last;
    if (call.accepts(ApiRequest.EVENTS)) {
      return new ApiResponse.Events(out -> events.stream(from, last, out));
    }
    int limit = Math.clamp(call.number("limit").orElse(PAGE), 1, LARGEST_PAGE);
    boolean follow = call.flag("follow", false);
    return new ApiResponse.Later(() -> events.page(from, last, limit, follow));
  }

  /** What all sources gave, and the nodes that gave nothing. */
  private record Read(List<Part> parts, Peers.Answers others) {
    boolean missed() {
      return !missedOn().isEmpty();
    }

    List<String> missedOn() {
      return parts.stream().filter(Part::missed).map(Part::node).toList();
    }
  }

  private ApiResponse page(EventPositions from, OptionalInt last, int limit, boolean follow)
      throws InterruptedException {
    Read read = read(from, last, limit);
    EventMerge merged = EventMerge.of(read.parts(), limit, last);
    boolean waits = follow && merged.events().isEmpty() && merged.complete() && !read.missed();
    if (waits) {
      EventPositions known = from.with(merged.next());
      awaitOne(known, last);
      read = read(known, last, limit);
      merged = EventMerge.of(read.parts(), limit, OptionalInt.empty());
    }
    Part own = read.parts().getFirst();
    Json page =
        Json.object()
            .put(
                "events",
                new Json.Arr(merged.events().stream().map(EventMerge.Given::event).toList()))
            .put("next", merged.next().get(own.id()))
            .put("missed", read.missed())
            .put("oldest", own.oldest())
            .put("newest", own.newest())
            .put("resume", from.with(merged.next()).text())
            .putIf("missed_on", Optional.of(read.missedOn()).filter(names -> !names.isEmpty()))
            .build();
    return new ApiResponse.Whole(
        200, ApiRequest.JSON, JsonText.bytes(page), read.others().headers());
  }

  /** One page of each source. */
  private Read read(EventPositions from, OptionalInt last, int limit) throws InterruptedException {
    var parts = new ArrayList<Part>();
    ApiResponse own =
        local.answer(call.asking(parameters(from, member.id(), last, limit), ApiRequest.JSON));
    if (own instanceof ApiResponse.Later later) {
      own = later.maker().make();
    }
    if (!(own instanceof ApiResponse.Whole whole)) {
      throw new AgentException.Internal("a page of events is a whole answer");
    }
    parts.add(part(from, member.id(), member.name(), JsonText.parse(whole.body())));
    var targets = new LinkedHashMap<Peer, String>();
    for (Peer peer : member.peers()) {
      targets.put(peer, target(parameters(from, peer.id(), last, limit)));
    }
    Peers.Answers others = member.calls().getAll(targets, call.deployment());
    others.found().forEach((peer, page) -> parts.add(part(from, peer.id(), peer.name(), page)));
    var silent = new ArrayList<>(others.silent());
    silent.addAll(member.away());
    try {
      parts.add(cluster(from, last));
    } catch (AgentException.Network | AgentException.Timeout _) {
      silent.add(STATE);
    }
    return new Read(parts, new Peers.Answers(others.found(), silent, others.failed()));
  }

  /** Whoever has seen nothing of a node misses nothing. */
  private static Part part(EventPositions from, String id, String name, Json page) {
    Part part = Part.of(id, name, page);
    return from.find(id).orElse(0) > 0
        ? part
        : new Part(id, name, part.events(), part.next(), part.newest(), false, part.oldest());
  }

  private Part cluster(EventPositions from, OptionalInt last) throws InterruptedException {
    OptionalLong known = from.find(EventPositions.CLUSTER);
    long since = known.orElse(0);
    ClusterEventLog.Part log = member.events().after(since);
    List<Happened> events = log.events();
    if (known.isEmpty() && last.isPresent() && events.size() > last.getAsInt()) {
      events = events.subList(events.size() - last.getAsInt(), events.size());
    }
    return new Part(
        EventPositions.CLUSTER,
        ALL,
        events.stream().filter(this::wanted).map(ClusterEvents::json).toList(),
        log.newest(),
        log.newest(),
        since > 0 && (since > log.newest() || since < log.oldest()) && log.newest() != since,
        log.oldest());
  }

  private boolean wanted(Happened event) {
    return kind.map(event.kind()::startsWith).orElse(true)
        && ClusterEventLog.about(event, deployment);
  }

  private static Json json(Happened event) {
    return Json.object()
        .put("seq", event.sequence())
        .put("time", event.time())
        .put("kind", event.kind())
        .put("subject", event.subject())
        .put("facts", event.facts())
        .put("node", ALL)
        .build();
  }

  private Map<String, String> parameters(
      EventPositions from, String id, OptionalInt newest, int limit) {
    var parameters = new LinkedHashMap<String, String>();
    OptionalLong known = from.find(id);
    if (known.isEmpty() && newest.isPresent()) {
      parameters.put("last", Integer.toString(newest.getAsInt()));
    } else {
      parameters.put("since", Long.toString(known.orElse(0)));
    }
    parameters.put("limit", Integer.toString(limit));
    deployment.ifPresent(name -> parameters.put("deployment", name));
    kind.ifPresent(name -> parameters.put("kind", name));
    return parameters;
  }

  private static String target(Map<String, String> parameters) {
    return "/events?"
        + parameters.entrySet().stream()
            .map(one -> one.getKey() + "=" + ClusterRoutes.segment(one.getValue()))
            .collect(Collectors.joining("&"));
  }

  /** Returns at the first event after a position, at the latest after a while. */
  private void awaitOne(EventPositions from, OptionalInt last) throws InterruptedException {
    Deadline deadline = Deadline.after(LONG_POLL);
    var reader = new Reader(from);
    try {
      follow(
          reader,
          last,
          new NodeFollowers.Caller() {
            @Override
            public void away(Set<String> names) {
              // the answer names them
            }

            @Override
            public boolean beat(boolean ended) {
              return !reader.any() && !deadline.passed();
            }
          });
    } catch (IOException e) {
      throw new AgentException.Internal("nothing is written meanwhile", e);
    }
  }

  private void stream(EventPositions from, OptionalInt newest, ApiResponse.Eventful out)
      throws IOException, InterruptedException {
    var reader = new Reader(from, out);
    OptionalInt first = newest;
    Read read;
    EventMerge merged;
    do {
      read = read(reader.positions(), newest, PAGE);
      for (Part part : read.parts()) {
        if (part.missed()) {
          reader.missed(part.node(), part.oldest());
        }
      }
      int limit = first.isPresent() ? LARGEST_PAGE : PAGE;
      merged = EventMerge.of(read.parts(), limit, first);
      reader.page(merged);
      first = OptionalInt.empty();
    } while (!merged.complete());
    reader.heartbeat();
    follow(
        reader,
        newest,
        new NodeFollowers.Caller() {
          private Deadline next = Deadline.after(HEARTBEAT);

          @Override
          public void away(Set<String> names) throws IOException {
            reader.away(names);
          }

          @Override
          public boolean beat(boolean ended) throws IOException {
            if (next.passed()) {
              reader.heartbeat();
              next = Deadline.after(HEARTBEAT);
            }
            return true;
          }
        });
  }

  private void follow(Reader reader, OptionalInt newest, NodeFollowers.Caller caller)
      throws IOException, InterruptedException {
    new NodeFollowers(node)
        .run(
            Map.of(member.name(), _ -> own(reader), STATE, link -> log(reader, link)),
            peer -> link -> other(peer, newest, reader, link),
            caller);
  }

  private void own(Reader reader) throws IOException, InterruptedException {
    Map<String, String> parameters =
        parameters(reader.positions(), member.id(), OptionalInt.empty(), PAGE);
    if (local.answer(call.asking(parameters, ApiRequest.EVENTS))
        instanceof ApiResponse.Events events) {
      events
          .writer()
          .write(
              new ApiResponse.Eventful() {
                @Override
                public void event(String id, String kind, Json data) throws IOException {
                  reader.event(member.id(), member.name(), data);
                }

                @Override
                public void heartbeat() {
                  // the whole stream has its own
                }
              });
    }
  }

  private void log(Reader reader, NodeFollowers.Link link)
      throws IOException, InterruptedException {
    member
        .events()
        .follow(
            reader.positions().find(EventPositions.CLUSTER).orElse(0),
            event -> {
              if (wanted(event)) {
                reader.event(EventPositions.CLUSTER, ALL, json(event));
              }
            },
            link::heard);
  }

  private void other(Peer peer, OptionalInt newest, Reader reader, NodeFollowers.Link link)
      throws IOException, InterruptedException {
    String target = target(parameters(reader.positions(), peer.id(), newest, PAGE));
    try (PeerLines lines =
        member.calls().open(peer, target, ApiRequest.EVENTS, call.deployment(), SILENCE)) {
      link.opened(lines);
      link.heard();
      for (Optional<String> line = lines.next(); line.isPresent(); line = lines.next()) {
        if (line.get().startsWith("data:")) {
          reader.event(
              peer.id(), peer.name(), JsonText.parse(line.get().substring("data:".length())));
        }
      }
    }
    throw new AgentException.Network("node '%s' has ended the stream".formatted(peer.name()));
  }

  /** How far one reader has come, and where it reads. */
  private static final class Reader {
    private EventPositions positions;
    private final Optional<ApiResponse.Eventful> out;
    private boolean any;

    Reader(EventPositions from) {
      this.positions = from;
      this.out = Optional.empty();
    }

    Reader(EventPositions from, ApiResponse.Eventful out) {
      this.positions = from;
      this.out = Optional.of(out);
    }

    synchronized EventPositions positions() {
      return positions;
    }

    synchronized boolean any() {
      return any;
    }

    /** What a node sent: an event, or that some were dropped. */
    synchronized void event(String source, String name, Json data) throws IOException {
      any = true;
      if (out.isEmpty()) {
        return;
      }
      Optional<Long> number = data.at("seq").integer();
      if (number.isEmpty()) {
        if (positions.find(source).orElse(0) > 0) {
          missed(name, data.at("oldest").integer().orElse(0L));
        }
        return;
      }
      positions = positions.with(source, number.get());
      out.get().event(positions.text(), word(data), ClusterStatus.on(name, data));
    }

    /** Events in their order, and how far that is. */
    synchronized void page(EventMerge merged) throws IOException {
      if (out.isPresent()) {
        positions = positions.with(merged.start());
        for (EventMerge.Given one : merged.events()) {
          positions = positions.with(one.source(), one.event().at("seq").integer().orElseThrow());
          out.get().event(positions.text(), word(one.event()), one.event());
        }
      }
      positions = positions.with(merged.next());
    }

    /** The kind as the name of an event in the stream, whatever another node calls it. */
    private static String word(Json event) {
      return event.at("kind").string().orElse("").replaceAll("[^\\w.-]", "");
    }

    synchronized void missed(String name, long oldest) throws IOException {
      if (out.isPresent()) {
        Json data = Json.object().put("oldest", oldest).put("node", name).build();
        out.get().event(positions.text(), "missed", data);
      }
    }

    synchronized void away(Set<String> names) throws IOException {
      if (out.isPresent()) {
        Json data = Json.object().put("away", List.copyOf(names)).build();
        out.get().event(positions.text(), "nodes", data);
      }
    }

    synchronized void heartbeat() throws IOException {
      if (out.isPresent()) {
        out.get().heartbeat();
      }
    }
  }
}
