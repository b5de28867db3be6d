package dev.zlayer.daemon.docker;

import dev.zlayer.json.Json;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** Which containers a listing shows. */
final class ContainerFilters {
  private static final Set<String> KNOWN =
      Set.of(
          "ancestor",
          "before",
          "expose",
          "exited",
          "health",
          "id",
          "isolation",
          "is-task",
          "label",
          "name",
          "network",
          "publish",
          "since",
          "status",
          "volume");

  private static final List<String> STATES =
      List.of("created", "running", "paused", "restarting", "removing", "exited", "dead");

  private final DockerFilters filters;
  private final DockerImageIndex images;
  private final ContainerSummary summary;
  private final Optional<ContainerFacts> before;
  private final Optional<ContainerFacts> since;

  /** {@code lookup} finds the containers that {@code before} and {@code since} name. */
  ContainerFilters(
      Optional<String> text,
      DockerImageIndex images,
      ContainerSummary summary,
      java.util.function.Function<String, ContainerFacts> lookup) {
    this.filters = DockerFilters.parse(text, KNOWN);
    this.images = images;
    this.summary = summary;
    this.before = filters.get("before").stream().findFirst().map(lookup);
    this.since = filters.get("since").stream().findFirst().map(lookup);
    for (String state : filters.get("status")) {
      if (!STATES.contains(state)) {
        throw DockerError.badRequest(
            "invalid filter 'status=%1$s': invalid value for state (%1$s): must be one of %2$s"
                .formatted(state, String.join(", ", STATES)));
      }
    }
    for (String code : filters.get("exited")) {
      if (!code.matches("-?[0-9]{1,9}")) {
        throw DockerError.badRequest("invalid filter 'exited=%s'".formatted(code));
      }
    }
  }

  /** Whether it is about containers that need not run. */
  boolean all() {
    return filters.has("status");
  }

  boolean shows(ContainerFacts facts) {
    return filters.labels(facts::labels)
        && filters.any("id", id -> facts.id().startsWith(id))
        && filters.any("name", name -> named(facts, name))
        && filters.any("status", facts.state()::equals)
        && filters.any("exited", code -> exited(facts, code))
        && filters.any("health", health(facts)::equals)
        && filters.any("ancestor", image -> ancestor(facts, image))
        && filters.any("network", network -> onNetwork(facts, network))
        && filters.any("volume", volume -> mounted(facts, volume))
        && filters.any("publish", port -> port(facts, port, true))
        && filters.any("expose", port -> port(facts, port, false))
        && filters.any("is-task", value -> !Set.of("true", "1").contains(value))
        && filters.any("isolation", "default"::equals)
        && older(facts);
  }

  private boolean older(ContainerFacts facts) {
    var created = facts.details().createdAt();
    return before.map(other -> created.isBefore(other.details().createdAt())).orElse(true)
        && since.map(other -> created.isAfter(other.details().createdAt())).orElse(true);
  }

  private static boolean named(ContainerFacts facts, String pattern) {
    try {
      var name = Pattern.compile(pattern);
      return name.matcher(facts.name()).find() || name.matcher("/" + facts.name()).find();
    } catch (PatternSyntaxException _) {
      return facts.name().contains(pattern);
    }
  }

  private static boolean exited(ContainerFacts facts, String code) {
    return facts.outcome().isPresent() && facts.exitCode() == Integer.parseInt(code);
  }

  private static String health(ContainerFacts facts) {
    return facts
        .health()
        .map(health -> health.state().name().toLowerCase(Locale.ROOT))
        .orElse("none");
  }

  private boolean ancestor(ContainerFacts facts, String image) {
    if (facts.imageName().equals(image)) {
      return true;
    }
    return images
        .find(image)
        .map(
            found ->
                found.id().equals(facts.imageId())
                    || facts.image().filter(own -> builtOn(own, found)).isPresent())
        .orElse(false);
  }

  /** Whether the layers of one begin with all of another. */
  private static boolean builtOn(dev.zlayer.port.ImageDetails own, DockerImageIndex.Found other) {
    List<?> below = other.details().layers();
    return own.layers().size() >= below.size()
        && !below.isEmpty()
        && own.layers().subList(0, below.size()).equals(below);
  }

  private static boolean onNetwork(ContainerFacts facts, String network) {
    return facts.network().equals(network)
        || ContainerEndpoints.networkId(facts.network()).startsWith(network);
  }

  private boolean mounted(ContainerFacts facts, String volume) {
    return summary.mounts(facts).stream()
        .anyMatch(
            mount ->
                is(mount, "Name", volume)
                    || is(mount, "Destination", volume)
                    || is(mount, "Source", volume));
  }

  private static boolean is(Json mount, String name, String value) {
    return mount.at(name).string().filter(value::equals).isPresent();
  }

  private static boolean port(ContainerFacts facts, String asked, boolean published) {
    String full = asked.contains("/") ? asked : asked + "/tcp";
    boolean open =
        facts.details().ports().stream()
            .anyMatch(
                port ->
                    full.equals(
                        (published ? port.hostPort() : port.containerPort())
                            + "/"
                            + port.protocol().name().toLowerCase(Locale.ROOT)));
    return open || (!published && ContainerSummary.exposed(facts).contains(full));
  }
}
