package dev.zlayer.cli.command.image;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.JsonLines;
import dev.zlayer.cli.client.Query;
import dev.zlayer.cli.print.PullView;
import dev.zlayer.cli.print.TerminalText;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.Digest;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.PullEvent;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Optional;

/** Asks the daemon for an image and shows how it comes in. */
public final class Pulling {
  private final Session session;
  private final DaemonClient client;

  public Pulling(Session session, DaemonClient client) {
    this.session = session;
    this.client = client;
  }

  /** The image as the daemon has it then. */
  public Json pull(String image, Json request, boolean silent) throws InterruptedException {
    Json body = withCredentials(image, request);
    try (JsonLines lines =
            client.stream(
                "POST", "/images/pull", Query.NONE, DaemonClient.JSON, JsonText.bytes(body));
        var view =
            PullView.of(text -> TerminalText.writeRaw(session.err(), text), session.terminal())) {
      boolean told = silent;
      for (Optional<Json> line = lines.next(); line.isPresent(); line = lines.next()) {
        if (line.get().at("type").string().filter("result"::equals).isPresent()) {
          return line.get();
        }
        if (!told) {
          told = true;
          session.err().println("pulling " + image);
        }
        if (!silent) {
          event(line.get()).ifPresent(view);
        }
      }
    }
    throw new AgentException.Network("the daemon did not report the result of pulling " + image);
  }

  /** Those of the user, unless others are given. */
  private Json withCredentials(String image, Json request) throws InterruptedException {
    if (!request.at("auth").isNull()) {
      return request;
    }
    var members = new LinkedHashMap<>(request.members());
    RegistryCredentials.of(session, ImageRef.parse(image))
        .ifPresent(auth -> members.put("auth", auth));
    return new Json.Obj(members);
  }

  /** A line as the event it was made from; lines of a newer daemon are passed over. */
  static Optional<PullEvent> event(Json line) {
    return switch (line.at("type").string().orElse("")) {
      case "resolved" ->
          line.at("manifest")
              .string()
              .map(
                  manifest ->
                      new PullEvent.Resolved(
                          Digest.parse(manifest),
                          line.at("layers").integer().orElse(0L).intValue(),
                          line.at("bytes").integer().orElse(0L)));
      case "layer" -> step(line).flatMap(step -> layer(line, step));
      case "notice" -> line.at("text").string().map(PullEvent.Notice::new);
      default -> Optional.empty();
    };
  }

  private static Optional<PullEvent> layer(Json line, PullEvent.Step step) {
    return line.at("layer")
        .string()
        .map(
            layer ->
                new PullEvent.LayerProgress(
                    Digest.parse(layer),
                    step,
                    line.at("done").integer().orElse(0L),
                    line.at("total").integer().orElse(0L)));
  }

  private static Optional<PullEvent.Step> step(Json line) {
    String word = line.at("step").string().orElse("").toUpperCase(Locale.ROOT);
    return Arrays.stream(PullEvent.Step.values())
        .filter(step -> step.name().equals(word))
        .findFirst();
  }
}
