package dev.zlayer.cli.print;

import dev.zlayer.json.Json;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What is known of a deployment on its way, from the lines that the daemon sends. Owned by the
 * thread that reads them.
 */
public final class DeployModel {
  private static final Set<String> TOLD = Set.of("replica.unhealthy", "service.warning");

  private static final String REMOVAL_DELAYED = "deployment.removal_delayed";

  private final Map<String, ServiceLine> services = new LinkedHashMap<>();
  private final Map<String, Map<String, Layer>> pulls = new LinkedHashMap<>();

  /**
   * A service as one line.
   *
   * @param note what it waits for or why it fails; may be empty
   */
  public record ServiceLine(String name, String state, long ready, long wanted, String note) {}

  /** How far a layer has come. */
  record Layer(String step, long done, long total) {}

  /** How far an image has come, all its layers together. */
  public record Pull(String image, int finished, int layers, long done, long total) {}

  /** Takes a line in; says in words what is new, if it is worth a line of plain output. */
  public Optional<String> take(Json line) {
    return switch (line.at("type").string().orElse("")) {
      case "service" -> service(inner(line, "service"));
      case "pull" -> pull(line);
      case "event" -> event(inner(line, "event"));
      default -> Optional.empty();
    };
  }

  public Iterable<ServiceLine> services() {
    return services.values();
  }

  /** Images that are not complete yet. */
  public Iterable<Pull> pulls() {
    return pulls.entrySet().stream()
        .map(pull -> sum(pull.getKey(), pull.getValue()))
        .filter(pull -> pull.finished() < pull.layers())
        .toList();
  }

  private static Json inner(Json line, String name) {
    return line.at(name) instanceof Json.Obj inside ? inside : line;
  }

  private Optional<String> service(Json service) {
    String name = service.at("name").string().or(() -> service.at("service").string()).orElse("?");
    String note =
        service
            .at("waiting_for")
            .string()
            .map(what -> "waiting for " + what)
            .or(() -> message(service.at("last_error")).filter(_ -> news(service)))
            .orElse("");
    var now =
        new ServiceLine(
            name,
            service.at("state").string().orElse("unknown"),
            service.at("ready").integer().orElse(0L),
            service.at("wanted").integer().orElse(0L),
            note);
    ServiceLine before = services.put(name, now);
    return now.equals(before) ? Optional.empty() : Optional.of(text(now));
  }

  /** Why it failed is the last that is printed, with its output; what leaves has failed before. */
  private static boolean news(Json service) {
    String state = service.at("state").string().orElse("");
    return !settled(service) && !state.equals("failed") && !state.equals("removing");
  }

  /** An error of the past is no news of one that runs, or that was stopped. */
  static boolean settled(Json service) {
    return switch (service.at("state").string().orElse("")) {
      case "running", "idle", "stopped" -> true;
      default -> false;
    };
  }

  private static Optional<String> message(Json failure) {
    return failure.string().or(() -> failure.at("message").string());
  }

  private Optional<String> pull(Json line) {
    String image = line.at("image").string().orElse("?");
    Json progress = line.at("progress");
    boolean begun = pulls.containsKey(image);
    Map<String, Layer> layers = pulls.computeIfAbsent(image, _ -> new LinkedHashMap<>());
    progress
        .at("layer")
        .string()
        .ifPresent(
            layer ->
                layers.put(
                    layer,
                    new Layer(
                        progress.at("step").string().orElse(""),
                        progress.at("done").integer().orElse(0L),
                        progress.at("total").integer().orElse(0L))));
    return begun ? Optional.empty() : Optional.of("pulling " + image);
  }

  private static Pull sum(String image, Map<String, Layer> layers) {
    int finished = 0;
    long done = 0;
    long total = 0;
    for (Layer layer : layers.values()) {
      boolean complete = layer.step().equals("done") || layer.step().equals("present");
      finished += complete ? 1 : 0;
      done += complete ? layer.total() : layer.done();
      total += layer.total();
    }
    return new Pull(image, finished, layers.size(), done, total);
  }

  /** Only what services do not tell themselves: those say why they fail. */
  private static Optional<String> event(Json event) {
    if (event.at("kind").string().equals(Optional.of(REMOVAL_DELAYED))) {
      return event.at("facts").at("reason").string();
    }
    return TOLD.contains(event.at("kind").string().orElse(""))
        ? Optional.of(EventLines.of(event, Style.PLAIN).replaceFirst("^\\S+ \\S+ ", ""))
        : Optional.empty();
  }

  private static String text(ServiceLine line) {
    String ready =
        line.wanted() == 0 && line.ready() == 0
            ? ""
            : ", %d of %d ready".formatted(line.ready(), line.wanted());
    return "%s: %s%s%s"
        .formatted(
            line.name(),
            line.state(),
            ready,
            line.note().isEmpty() ? "" : " (" + firstLine(line.note()) + ")");
  }

  static String firstLine(String text) {
    return text.lines().findFirst().orElse("");
  }
}
