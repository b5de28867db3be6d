package dev.zlayer.daemon.docker;

import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Every parameter of every route and every field of every body but that of {@link CreateFields},
 * and what becomes of it. What is refused here is refused before a route is asked. The reference in
 * {@code docs/docker.md} is made from this list.
 */
final class RequestFields {
  private RequestFields() {}

  /** What becomes of it. */
  enum Support {
    HONOURED,
    /** Nothing differs, for the reason in the note. */
    WITHOUT_EFFECT,
    /** Only its default is accepted. */
    REFUSED
  }

  /** One of them; those of the query begin with a question mark in the list. */
  record Field(String route, boolean query, String name, Support support, String note) {}

  /** Values with which clients ask for nothing. */
  private static final Set<String> DEFAULTS =
      Set.of("", "0", "false", "default", "null", "[]", "{}");

  private static final String LIST =
      """
      POST /containers/create
      ?name +
      ?platform +
      GET /containers/json
      ?all +
      ?limit +
      ?size +
      ?filters + ancestor, before, expose, exited, health, id, isolation, is-task, label, name, network, publish, since, status, volume
      GET /containers/{name*}/json
      ?size +
      POST /containers/{name}/rename
      ?name +
      DELETE /containers/{name}
      ?force +
      ?v = anonymous volumes are removed with their container in any case
      ?link - there are no links
      POST /containers/prune
      ?filters + label, label!, until
      POST /containers/{name}/start
      ?detachKeys = keys are those of the client that attaches
      ?checkpoint - there are no checkpoints
      ?checkpoint-dir - there are no checkpoints
      POST /containers/{name}/stop
      ?t +
      ?signal +
      POST /containers/{name}/restart
      ?t +
      ?signal +
      POST /containers/{name}/kill
      ?signal +
      POST /containers/{name}/wait
      ?condition + not-running, next-exit, removed
      GET /containers/{name}/logs
      ?follow +
      ?stdout +
      ?stderr +
      ?since +
      ?until +
      ?timestamps +
      ?tail +
      ?details +
      POST /containers/{name}/attach
      ?detachKeys +
      ?logs +
      ?stream +
      ?stdin +
      ?stdout +
      ?stderr +
      GET /containers/{name}/attach/ws
      ?detachKeys +
      ?logs +
      ?stream +
      ?stdin +
      ?stdout +
      ?stderr +
      POST /containers/{name}/resize
      ?h +
      ?w +
      GET /containers/{name}/top
      ?ps_args + -ef, the only one
      HEAD /containers/{name}/archive
      ?path +
      GET /containers/{name}/archive
      ?path +
      PUT /containers/{name}/archive
      ?path +
      ?noOverwriteDirNonDir = a directory is never replaced by something else
      ?copyUIDGID = owners are those of the archive
      GET /containers/{name}/stats
      ?stream +
      ?one-shot +
      POST /containers/{name}/exec
      Cmd +
      Env +
      User +
      WorkingDir +
      Privileged +
      Tty +
      ConsoleSize +
      AttachStdin +
      AttachStdout +
      AttachStderr +
      DetachKeys +
      Detach = the start says so
      Container = the path says which
      containerId = the path says which
      POST /exec/{id}/start
      Detach +
      Tty + whether the output is without frames
      ConsoleSize +
      hijack = some clients send what is for themselves
      stdin = some clients send what is for themselves
      stream = some clients send what is for themselves
      POST /exec/{id}/resize
      ?h +
      ?w +
      GET /images/json
      ?filters + dangling, label, label!, before, since, reference, until
      ?all = there are no intermediate images
      ?shared-size = SharedSize is -1: unknown
      ?digests = they are always listed
      ?manifests - one manifest of an image is stored
      GET /images/{name*}/json
      ?manifests - one manifest of an image is stored
      ?platform - one platform of an image is stored
      GET /images/{name*}/history
      ?platform - one platform of an image is stored
      POST /images/{name*}/tag
      ?repo +
      ?tag +
      DELETE /images/{name*}
      ?force +
      ?noprune = there are no untagged parents
      ?platforms - one platform of an image is stored
      POST /images/prune
      ?filters + dangling, until, label, label!
      POST /images/create
      ?fromImage +
      ?tag +
      ?platform +
      ?fromSrc + only -
      ?repo +
      ?changes +
      ?message +
      POST /images/{name*}/push
      ?tag +
      ?repository = the path names it; some clients send it twice
      ?platform - one platform of an image is stored
      GET /images/get
      ?names +
      ?platform - one platform of an image is stored
      GET /images/{name*}/get
      ?platform - one platform of an image is stored
      POST /images/load
      ?quiet = no progress is reported
      ?platform - all that is in the archive is loaded
      POST /commit
      ?container +
      ?repo +
      ?tag +
      ?comment +
      ?author +
      ?pause +
      ?changes +
      container = the query says it; some clients send it twice
      containerId = the query says it; some clients send it twice
      repo = the query says it; some clients send it twice
      repository = the query says it; some clients send it twice
      tag = the query says it; some clients send it twice
      comment = the query says it; some clients send it twice
      author = the query says it; some clients send it twice
      pause = the query says it; some clients send it twice
      message = the query says it; some clients send it twice
      changes = the query says it; some clients send it twice
      Labels +
      Env + not those that the container had
      Cmd +
      Entrypoint +
      ExposedPorts +
      Volumes +
      WorkingDir +
      User +
      StopSignal +
      Hostname = it is of a container, not of an image
      Domainname = it is of a container, not of an image
      AttachStdin = it is of a container, not of an image
      AttachStdout = it is of a container, not of an image
      AttachStderr = it is of a container, not of an image
      Tty = it is of a container, not of an image
      OpenStdin = it is of a container, not of an image
      StdinOnce = it is of a container, not of an image
      Image = it is of a container, not of an image
      Healthcheck - use a Dockerfile
      OnBuild - use a Dockerfile
      Shell - use a Dockerfile
      POST /build
      ?t +
      ?dockerfile +
      ?buildargs +
      ?labels +
      ?target +
      ?pull +
      ?networkmode + default, bridge, host, none
      ?extrahosts +
      ?q +
      ?version + 1; 2 is refused with what to set
      ?shmsize +
      ?memory +
      ?memswap +
      ?cpushares +
      ?cpusetcpus +
      ?cpusetmems +
      ?cpuperiod +
      ?cpuquota +
      ?ulimits +
      ?squash +
      ?cachefrom = nothing is kept between builds
      ?nocache = nothing is kept between builds
      ?rm = nothing is kept between builds
      ?forcerm = nothing is kept between builds
      ?remote - send the context as the body; set DOCKER_BUILDKIT=0 for clients that use BuildKit
      ?cgroupparent - each build has a group of its own
      ?outputs - the result goes into the store
      ?isolation - it is for Windows
      ?platform - builds are for this host
      ?securityopt - builds have no such setting
      POST /build/prune
      ?all = nothing is kept
      ?filters = nothing is kept
      ?keep-storage = nothing is kept
      ?reserved-space = nothing is kept
      ?max-used-space = nothing is kept
      ?min-free-space = nothing is kept
      GET /volumes
      ?filters + dangling, driver, label, label!, name
      POST /volumes/create
      Name +
      Labels +
      Driver + only local
      DriverOpts - volumes are directories of this node
      Mountpoint = the agent decides
      ClusterVolumeSpec - this node is not part of a swarm
      DELETE /volumes/{name}
      ?force +
      POST /volumes/prune
      ?filters + label, label!, all
      GET /networks
      ?filters + dangling, driver, id, label, label!, name, scope, type
      GET /networks/{id}
      ?verbose = there are no tasks of services
      ?scope = every network is local
      POST /networks/create
      Name +
      Labels +
      Internal +
      EnableIPv6 +
      IPAM +
      IPAM.Driver + only default
      IPAM.Options - addresses are given by the agent
      IPAM.Config + one of IPv4 and one of IPv6
      IPAM.Config.Subnet +
      IPAM.Config.Gateway +
      IPAM.Config.IPRange +
      IPAM.Config.AuxiliaryAddresses +
      Driver + only bridge
      EnableIPv4 + only true
      Scope = every network is local
      Attachable + any container can be connected to any network
      CheckDuplicate = names are unique in any case
      Ingress - networks are bridges of this node
      ConfigOnly - networks are bridges of this node
      ConfigFrom - networks are bridges of this node
      Options - bridges have no options
      POST /networks/{id}/connect
      Container +
      containerConfig = docker-java sends the endpoint twice, EndpointConfig counts
      EndpointConfig +
      EndpointConfig.Aliases +
      EndpointConfig.Links + names that this container alone has for others; not on bridge
      EndpointConfig.MacAddress +
      EndpointConfig.IPAMConfig +
      EndpointConfig.IPAMConfig.IPv4Address +
      EndpointConfig.IPAMConfig.IPv6Address +
      EndpointConfig.IPAMConfig.LinkLocalIPs - an interface has one address of each kind
      EndpointConfig.DriverOpts = inspect shows them; those that begin with com.docker.network. are refused
      EndpointConfig.GwPriority - the first network is the way to the outside
      EndpointConfig.NetworkID = an earlier inspect said so
      EndpointConfig.EndpointID = an earlier inspect said so
      EndpointConfig.DNSNames = an earlier inspect said so
      EndpointConfig.Gateway = an earlier inspect said so
      EndpointConfig.IPAddress = an earlier inspect said so
      EndpointConfig.IPPrefixLen = an earlier inspect said so
      EndpointConfig.IPv6Gateway = an earlier inspect said so
      EndpointConfig.GlobalIPv6Address = an earlier inspect said so
      EndpointConfig.GlobalIPv6PrefixLen = an earlier inspect said so
      POST /networks/{id}/disconnect
      Container +
      Force = a container that does not exist is on no network
      POST /networks/prune
      ?filters + until, label, label!
      GET /system/df
      ?type +
      ?verbose = all is listed in any case
      POST /auth
      username +
      password +
      serveraddress +
      identitytoken +
      email = registries have no use for it
      auth = the name and the password count
      registrytoken - registries are asked with a name and a password
      GET /events
      ?since +
      ?until +
      ?filters + container, daemon, event, image, label, label!, network, scope, type, volume
      """;

  private static final List<Field> ALL = read();

  private static List<Field> read() {
    var all = new ArrayList<Field>();
    String route = "";
    for (String line : LIST.lines().toList()) {
      String[] words = line.split(" ", 3);
      if (words[1].startsWith("/")) {
        route = line;
        continue;
      }
      boolean query = words[0].startsWith("?");
      Support support =
          switch (words[1]) {
            case "+" -> Support.HONOURED;
            case "=" -> Support.WITHOUT_EFFECT;
            case "-" -> Support.REFUSED;
            default -> throw new IllegalStateException(line);
          };
      String name = query ? words[0].substring(1) : words[0];
      all.add(new Field(route, query, name, support, words.length < 3 ? "" : words[2]));
    }
    return List.copyOf(all);
  }

  /** All of them, in the order of the routes. */
  static List<Field> all() {
    return ALL;
  }

  /** The same route; what is refused in its query is refused before it is asked. */
  static Route guarded(Route route) {
    String name = route.method() + " " + route.template();
    List<Field> refused =
        ALL.stream()
            .filter(field -> field.query() && field.route().equals(name))
            .filter(field -> field.support() == Support.REFUSED)
            .toList();
    return refused.isEmpty()
        ? route
        : route.with(
            action ->
                call -> {
                  try {
                    refused.forEach(field -> check(field, call));
                  } catch (DockerError e) {
                    DockerQuery.skipArchive(call);
                    throw e;
                  }
                  return action.answer(call);
                });
  }

  private static void check(Field field, ApiRequest call) {
    if (!call.queries(field.name()).stream()
        .allMatch(value -> DEFAULTS.contains(value.toLowerCase(Locale.ROOT)))) {
      throw DockerError.unsupportedField(field.name(), field.note());
    }
  }

  /** The body of a request with the names as they are listed, once checked. */
  static Json body(String route, ApiRequest call) {
    return checked(route, "", DockerQuery.body(call), "");
  }

  /**
   * The same for an object within a body.
   *
   * @param within begins the names of its fields in the list
   * @param shown begins them in a refusal
   */
  static Json checked(String route, String within, Json given, String shown) {
    Map<String, Field> known = new LinkedHashMap<>();
    for (Field field : ALL) {
      boolean here =
          field.name().startsWith(within) && field.name().indexOf('.', within.length()) < 0;
      if (field.route().equals(route) && !field.query() && here) {
        known.put(field.name().substring(within.length()).toLowerCase(Locale.ROOT), field);
      }
    }
    var members = new LinkedHashMap<String, Json>();
    given
        .members()
        .forEach(
            (name, value) -> {
              Optional<Field> field = Optional.ofNullable(known.get(name.toLowerCase(Locale.ROOT)));
              boolean refused = field.map(one -> one.support() == Support.REFUSED).orElse(true);
              String own = field.map(one -> one.name().substring(within.length())).orElse(name);
              if (refused && !CreateFields.zero(value)) {
                String part =
                    value.members().keySet().stream().findFirst().map(key -> "." + key).orElse("");
                throw DockerError.unsupportedField(
                    shown + own + part, field.map(Field::note).orElse("it is unknown"));
              }
              field.ifPresent(one -> members.put(own, parts(one, value, shown + own + ".")));
            });
    return new Json.Obj(members);
  }

  /** With the parts of an object, or of all objects of a list, checked if they are listed. */
  private static Json parts(Field field, Json value, String shown) {
    String within = field.name() + ".";
    boolean listed =
        ALL.stream()
            .anyMatch(one -> one.route().equals(field.route()) && one.name().startsWith(within));
    if (!listed) {
      return value;
    }
    return switch (value) {
      case Json.Obj object -> checked(field.route(), within, object, shown);
      case Json.Arr(var items) ->
          Json.of(items.stream().map(item -> checked(field.route(), within, item, shown)).toList());
      default -> value;
    };
  }
}
