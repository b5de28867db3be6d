package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.engine.secret.SecretInfo;
import dev.zlayer.engine.secret.SecretName;
import dev.zlayer.engine.secret.SecretStore;
import dev.zlayer.error.AgentException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Secrets: they can be set and removed, never read. */
public final class SecretsResource implements Resource {
  private static final String LOCAL =
      "In a cluster: of this node, for deployments that it runs alone.";

  private final SecretStore secrets;
  private final Runnable changed;

  /**
   * What may be told of a secret.
   *
   * @param node in a cluster, of secrets that this node alone has
   */
  public record SecretView(
      String name,
      Optional<String> deployment,
      Optional<String> service,
      Instant changed,
      long revision,
      String fingerprint,
      Optional<String> node) {
    public static SecretView of(SecretInfo info) {
      return new SecretView(
          info.name().name(),
          info.name().deployment(),
          info.name().service(),
          info.changedAt(),
          info.revision(),
          info.fingerprint(),
          Optional.empty());
    }
  }

  /** Tells {@code changed} after every change, so that those who use a secret are rolled. */
  public SecretsResource(SecretStore secrets, Runnable changed) {
    this.secrets = secrets;
    this.changed = changed;
  }

  @Override
  public String title() {
    return "Secrets";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.view("/secrets", "List secrets without their values.", this::list)
            .with("deployment", "Only this deployment.")
            .withFlag("local", LOCAL)
            .givesMany(SecretView.class),
        owned(Route.put("/secrets/{name}", "Set a secret.", this::set))
            .takes("application/octet-stream", "The value.")
            .gives(SecretView.class),
        owned(Route.delete("/secrets/{name}", "Remove a secret.", this::remove).freeing())
            .givesNothing());
  }

  private static Route owned(Route route) {
    return route
        .with("deployment", "Owning deployment (default: shared by all).")
        .with("service", "Owning service of the deployment (default: all of them).")
        .withFlag("local", LOCAL);
  }

  private ApiResponse list(ApiRequest call) {
    Optional<String> deployment = call.query("deployment");
    return ApiResponse.json(
        ViewJson.of(
            secrets.list().stream()
                .filter(
                    secret -> deployment.isEmpty() || secret.name().deployment().equals(deployment))
                .map(SecretView::of)
                .toList()));
  }

  private ApiResponse set(ApiRequest call) {
    SecretInfo info = secrets.set(name(call), value(call));
    changed.run();
    return ApiResponse.json(ViewJson.of(SecretView.of(info)));
  }

  /** The value that somebody sends. */
  public static String value(ApiRequest call) {
    String value = text(call.wholeBody());
    if (value.isEmpty()) {
      throw new AgentException.InvalidSpec(
          "secret '%s' would be empty: send a value, or remove the secret"
              .formatted(call.path("name")));
    }
    return value;
  }

  private static String text(byte[] body) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString();
    } catch (CharacterCodingException _) {
      throw new AgentException.InvalidSpec("a secret is text in UTF-8; encode what is not");
    }
  }

  private ApiResponse remove(ApiRequest call) {
    secrets.remove(name(call));
    changed.run();
    return ApiResponse.done();
  }

  /** Which secret is meant. */
  public static SecretName name(ApiRequest call) {
    return new SecretName(call.query("deployment"), call.query("service"), call.path("name"));
  }
}
