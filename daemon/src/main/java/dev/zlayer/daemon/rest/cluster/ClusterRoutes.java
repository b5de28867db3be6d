package dev.zlayer.daemon.rest.cluster;

import dev.zlayer.cluster.deploy.NodeShares.Peer;
import dev.zlayer.daemon.ResourceEvents;
import dev.zlayer.daemon.cluster.ClusterNode;
import dev.zlayer.daemon.cluster.ClusterSecrets;
import dev.zlayer.daemon.cluster.Peers;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Paging;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.http.RouteHandler;
import dev.zlayer.daemon.rest.ContainerLookup;
import dev.zlayer.daemon.rest.ViewJson;
import dev.zlayer.daemon.rest.view.DeploymentView;
import dev.zlayer.engine.deployment.Deployments;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What the routes of the API mean on a node of a cluster: lists are of all nodes, a container is
 * found wherever it is, and deployments are those of the cluster. A node that is in no cluster, or
 * is asked by another one, answers for itself.
 */
public final class ClusterRoutes {
  static final Set<String> PAGES = Set.of(Paging.LIMIT, Paging.OFFSET);
  private static final Set<String> LISTS =
      Set.of("/containers", "/ended", "/stats", "/images", "/volumes", "/networks");

  /** A node adds up the sizes of volumes for some seconds. */
  private static final Duration MEASURING = Duration.ofSeconds(10);

  private static final Duration STARTING = Duration.ofSeconds(30);
  private static final Duration STEP = Duration.ofMillis(200);

  private static final String ALONE = "In a cluster: of this node alone.";

  private final ClusterNode node;
  private final ContainerLookup containers;
  private final Deployments deployments;
  private final JobExecutor jobs;
  private final ResourceEvents events;

  /** What this node alone lists, by path. */
  private final Map<String, RouteHandler> lists = new ConcurrentHashMap<>();

  public ClusterRoutes(
      ClusterNode node,
      ContainerLookup containers,
      Deployments deployments,
      JobExecutor jobs,
      ResourceEvents events) {
    this.events = events;
    this.jobs = jobs;
    this.node = node;
    this.containers = containers;
    this.deployments = deployments;
  }

  public Route around(Route route) {
    String template = route.template();
    boolean reads = route.method().equals("GET");
    if (template.startsWith("/containers/{ref}")) {
      boolean shows = reads && template.equals("/containers/{ref}");
      return route.with(local -> call -> container(local, call, shows));
    }
    if (reads && LISTS.contains(template)) {
      lists.put(template, route.action());
      return route
          .withFlag("local", ALONE)
          .with(local -> around(local, Paging.around(call -> list(local, call))));
    }
    if (reads && template.equals("/deployments")) {
      return route
          .withFlag("local", ALONE)
          .with(local -> Paging.around(call -> deployments(local, call)));
    }
    if (ClusterStorage.handles(route)) {
      return ClusterStorage.described(route)
          .with(
              local ->
                  call -> ClusterStorage.answer(route, member(call), local, list(template), call));
    }
    if (reads && template.equals("/events")) {
      return route.withFlag("local", ALONE).with(local -> call -> events(local, call));
    }
    if (JobRequests.handles(template) || ExecutionRequests.handles(template)) {
      return route.with(local -> call -> jobs(route, local, call));
    }
    if (SecretRequests.handles(template)) {
      return reads
          ? route.with(local -> Paging.around(call -> secrets(route, local, call)))
          : route.with(local -> call -> secrets(route, local, call));
    }
    return template.startsWith("/deployments/{name}")
        ? route.with(local -> call -> deployment(route, local, call))
        : route;
  }

  private Optional<ClusterNode.Member> member(ApiRequest call) {
    return call.fromNode() || call.flag("local", false) ? Optional.empty() : node.member();
  }

  /** The list that the thing of a route is in. */
  private RouteHandler list(String template) {
    return Objects.requireNonNull(lists.get(template.substring(0, template.indexOf("/{"))));
  }

  /** Statistics may be followed. */
  private RouteHandler around(RouteHandler local, RouteHandler list) {
    return call -> {
      Optional<ClusterNode.Member> member = member(call);
      return member.isPresent() && call.flag("stream", false)
          ? ClusterStats.answer(node, member.get(), local, call)
          : list.answer(call);
    };
  }

  private ApiResponse events(RouteHandler local, ApiRequest call) throws InterruptedException {
    Optional<ClusterNode.Member> member = member(call);
    if (ClusterEvents.continues(call)) {
      // an agent that has just been started serves before it takes part in its cluster
      Deadline deadline = Deadline.after(STARTING);
      while (member.isEmpty() && node.belongs() && !deadline.passed()) {
        Pauses.REAL.pause(STEP);
        member = member(call);
      }
    }
    return member.isEmpty()
        ? local.answer(call)
        : ClusterEvents.answer(node, member.get(), local, call);
  }

  /** Of this node first; a name that it does not know is asked for on the others. */
  private ApiResponse container(RouteHandler local, ApiRequest call, boolean shows)
      throws InterruptedException {
    Optional<ClusterNode.Member> member = member(call);
    if (member.isEmpty()) {
      return local.answer(call);
    }
    String reference = call.path("ref");
    if (member.get().peers().isEmpty() || here(reference)) {
      ApiResponse own = local.answer(call);
      return shows && own instanceof ApiResponse.Whole whole && whole.status() == 200
          ? ApiResponse.json(details(member.get().name(), JsonText.parse(whole.body())))
          : own;
    }
    Peers.Answers answers =
        member
            .get()
            .calls()
            .getAll(member.get().peers(), "/containers/" + segment(reference), call.deployment());
    if (answers.unclear().isPresent()) {
      return answers.unclear().get();
    }
    if (shows && answers.found().size() == 1) {
      var one = answers.found().entrySet().iterator().next();
      return ApiResponse.json(details(one.getKey().name(), one.getValue()));
    }
    var found = new LinkedHashMap<>(answers.found());
    found.replaceAll((_, one) -> one.at("container"));
    if (found.isEmpty()) {
      return unlessElsewhere(local, call, answers);
    }
    if (found.size() > 1) {
      throw new AgentException.InvalidSpec(
          "'%s' means containers on several nodes (%s), write one of: %s"
              .formatted(
                  reference,
                  String.join(", ", found.keySet().stream().map(Peer::name).sorted().toList()),
                  String.join(
                      ", ",
                      found.values().stream()
                          .map(one -> one.at("name").string().orElse("?"))
                          .sorted()
                          .distinct()
                          .toList())));
    }
    Peer peer = found.keySet().iterator().next();
    String id = found.values().iterator().next().at("id").string().orElse(reference);
    return member.get().calls().forwardWhileWaiting(peer, call, withReference(call.target(), id));
  }

  /** Everything about a container, with its node. */
  private static Json details(String node, Json answer) {
    var members = new LinkedHashMap<>(answer.members());
    members.put("container", ClusterStatus.on(node, answer.at("container")));
    return new Json.Obj(members);
  }

  /** What is not here may be on a node that did not answer, or not with what was asked for. */
  static ApiResponse unlessElsewhere(RouteHandler local, ApiRequest call, Peers.Answers answers)
      throws InterruptedException {
    try {
      return local.answer(call);
    } catch (AgentException.NotFound e) {
      Optional<String> doubt = answers.doubt();
      throw doubt.isEmpty()
          ? e
          : new AgentException.NotFound(e.what(), "it is not on this node, and " + doubt.get());
    }
  }

  private boolean here(String reference) {
    try {
      var _ = containers.find(reference);
      return true;
    } catch (AgentException.NotFound _) {
      return false;
    } catch (AgentException.InvalidSpec _) {
      return true; // it means several, which are named
    }
  }

  /** The path with the id of the container, so that what is meant cannot change on the way. */
  private static String withReference(String target, String id) {
    int from = target.indexOf("/containers/") + "/containers/".length();
    int end = from;
    while (end < target.length() && target.charAt(end) != '/' && target.charAt(end) != '?') {
      end++;
    }
    return target.substring(0, from) + segment(id) + target.substring(end);
  }

  static String segment(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  /** What this node lists, and after it what the others list, each with its node. */
  private ApiResponse list(RouteHandler local, ApiRequest call) throws InterruptedException {
    ApiResponse own = local.answer(call.without(PAGES));
    Optional<ClusterNode.Member> member = member(call);
    if (member.isPresent() && own instanceof ApiResponse.Later later) {
      return new ApiResponse.Later(() -> list(member.get(), later.maker().make(), call));
    }
    return member.isPresent() ? list(member.get(), own, call) : own;
  }

  private static ApiResponse list(ClusterNode.Member member, ApiResponse own, ApiRequest call)
      throws InterruptedException {
    if (!(own instanceof ApiResponse.Whole whole) || whole.status() != 200) {
      return own;
    }
    var all = new ArrayList<Json>();
    JsonText.parse(whole.body())
        .items()
        .forEach(one -> all.add(ClusterStatus.on(member.name(), one)));
    Peers.Answers others = others(member, call);
    others.found().forEach((peer, one) -> all.addAll(on(peer, one)));
    return whole(new Json.Arr(all), others);
  }

  private static ApiResponse whole(Json body, Peers.Answers others) {
    return new ApiResponse.Whole(200, ApiRequest.JSON, JsonText.bytes(body), others.headers());
  }

  private static List<Json> on(Peer peer, Json answer) {
    return answer.items().stream().map(one -> ClusterStatus.on(peer.name(), one)).toList();
  }

  private static Peers.Answers others(ClusterNode.Member member, ApiRequest call)
      throws InterruptedException {
    String target = call.target().substring(Peers.BASE.length());
    String base = target.contains("?") ? target : target + "?";
    String plain = base.replaceAll("(?<=[?&])(limit|offset)=[^&]*&?", "");
    var targets = new LinkedHashMap<Peer, String>();
    member.peers().forEach(peer -> targets.put(peer, plain));
    return call.flag("size", false)
        ? member.calls().getAll(targets, call.deployment(), MEASURING)
        : member.calls().getAll(targets, call.deployment());
  }

  /** Those of the cluster once, and those that are a node's own. */
  private ApiResponse deployments(RouteHandler local, ApiRequest call) throws InterruptedException {
    ApiResponse own = local.answer(call.without(PAGES));
    Optional<ClusterNode.Member> member = member(call);
    if (member.isEmpty() || !(own instanceof ApiResponse.Whole whole) || whole.status() != 200) {
      return own;
    }
    var parts = new LinkedHashMap<String, Json>();
    parts.put(member.get().name(), JsonText.parse(whole.body()));
    Peers.Answers others = others(member.get(), call);
    others.found().forEach((peer, answer) -> parts.put(peer.name(), answer));
    return whole(
        new Json.Arr(requests(member.get()).list(parts, call.query("deployment"))), others);
  }

  private ClusterRequests requests(ClusterNode.Member member) {
    return new ClusterRequests(
        member, name -> deployments.find(name).map(DeploymentView::of).map(ViewJson::of));
  }

  private ApiResponse deployment(Route route, RouteHandler local, ApiRequest call)
      throws InterruptedException {
    Optional<ClusterNode.Member> member = member(call);
    String name = call.path("name");
    boolean applies =
        route.method().equals("PUT") && route.template().equals("/deployments/{name}");
    if (member.isEmpty()) {
      if (applies && !call.fromNode() && node.member().isPresent() && shared(name)) {
        throw new AgentException.Conflict(
            "deployment '%s' is of the cluster; choose another name, or apply it without --local"
                .formatted(name));
      }
      return local.answer(call);
    }
    boolean compares = route.template().equals("/deployments/{name}/diff");
    boolean reads = route.method().equals("GET");
    boolean clustered;
    try {
      clustered = requests(member.get()).has(name);
    } catch (AgentException.Network | AgentException.Timeout e) {
      if (reads) {
        return local.answer(call); // what this node itself knows of it
      }
      throw e;
    }
    boolean own = deployments.find(name).isPresent() && !shared(name);
    if (clustered || ((applies || compares) && !own)) {
      return requests(member.get()).answer(route, local, call);
    }
    if (own) {
      return local.answer(call);
    }
    Peers.Answers answers =
        member
            .get()
            .calls()
            .getAll(member.get().peers(), "/deployments/" + segment(name), call.deployment());
    Optional<Peer> owner = answers.found().keySet().stream().findFirst();
    return owner.isPresent()
        ? member.get().calls().forwardWhileWaiting(owner.get(), call, call.target())
        : unlessElsewhere(local, call, answers);
  }

  /**
   * What the cluster says cannot be read while it does not answer: this node answers for itself.
   */
  private ApiResponse jobs(Route route, RouteHandler local, ApiRequest call)
      throws InterruptedException {
    Optional<ClusterNode.Member> member = member(call);
    if (member.isEmpty()) {
      return local.answer(call);
    }
    try {
      return JobRequests.handles(route.template())
          ? new JobRequests(member.get(), jobs).answer(route, local, call)
          : new ExecutionRequests(member.get(), jobs).answer(route, local, call);
    } catch (AgentException.Network | AgentException.Timeout e) {
      if (route.method().equals("GET")) {
        return local.answer(call);
      }
      throw e;
    }
  }

  /** A deployment of this node alone has secrets of this node. */
  private ApiResponse secrets(Route route, RouteHandler local, ApiRequest call)
      throws InterruptedException {
    boolean own =
        !call.fromNode()
            && (call.flag("local", false)
                || call.query("deployment")
                    .filter(name -> deployments.find(name).isPresent() && !shared(name))
                    .isPresent());
    if (own || !node.belongs()) {
      return local.answer(call);
    }
    Optional<ClusterSecrets> secrets = node.secrets();
    Optional<ClusterNode.Member> member = node.member();
    if (secrets.isEmpty() || member.isEmpty()) {
      throw new AgentException.Unavailable(
          "this node takes no part in its cluster at the moment: try again; --local means the"
              + " secrets of the node itself");
    }
    return new SecretRequests(secrets.get(), member.get().name(), events)
        .answer(route, local, call);
  }

  /** Whether this node has a part of it, as its cluster assigned it. */
  private boolean shared(String name) {
    return deployments.find(name).filter(one -> one.share().isPresent()).isPresent();
  }
}
