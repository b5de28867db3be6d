package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.access.TokenStore;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Caller;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;

/** Scoped tokens for the TCP listener. Only callers with all rights reach these routes. */
public final class TokensResource implements Resource {
  private final TokenStore tokens;
  private final InstantSource clock;

  @Doc("What the token is for: either read_only or deployment.")
  public record NewToken(
      @Doc("Name in lists and in the audit log; its id when absent.") Optional<String> name,
      @Doc("It may read what the read-only socket offers.") @Default("false") boolean readOnly,
      @Doc("It may see and change this deployment alone.") Optional<String> deployment,
      @Doc("How long it is valid; for ever when absent.") Optional<Duration> expires) {}

  /**
   * A token without its secret.
   *
   * @param scope read-only or deployment
   */
  record TokenView(
      String id,
      String name,
      String scope,
      Optional<String> deployment,
      Instant created,
      Optional<Instant> expires,
      boolean expired) {
    static TokenView of(TokenStore.Info info, Instant now) {
      Optional<String> deployment =
          info.token().access() instanceof Caller.Access.Deployment(String name)
              ? Optional.of(name)
              : Optional.empty();
      return new TokenView(
          info.token().id(),
          info.token().name(),
          deployment.isPresent() ? "deployment" : "read-only",
          deployment,
          info.created(),
          info.token().expires(),
          info.expired(now));
    }
  }

  /** A new token; {@code secret} is never shown again. */
  record CreatedToken(TokenView token, String secret) {}

  public TokensResource(TokenStore tokens, InstantSource clock) {
    this.tokens = tokens;
    this.clock = clock;
  }

  @Override
  public String title() {
    return "Tokens";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.get("/tokens", "List scoped tokens without their secrets.", _ -> list())
            .givesMany(TokenView.class),
        Route.post("/tokens", "Create a scoped token for the TCP listener.", this::create)
            .takes(NewToken.class)
            .creates(CreatedToken.class),
        Route.delete(
                "/tokens/{name}",
                "Remove a token by its name or id; its open connections are closed.",
                this::remove)
            .givesNothing());
  }

  private ApiResponse list() {
    Instant now = clock.instant();
    return ApiResponse.json(
        ViewJson.of(tokens.list().stream().map(info -> TokenView.of(info, now)).toList()));
  }

  private ApiResponse create(ApiRequest call) {
    NewToken wanted = call.body(NewToken.class);
    if (wanted.readOnly() == wanted.deployment().isPresent()) {
      throw new AgentException.InvalidSpec(
          "a token is either read-only or for one deployment; set read_only or deployment");
    }
    Caller.Access access =
        wanted
            .deployment()
            .<Caller.Access>map(Caller.Access.Deployment::new)
            .orElseGet(Caller.Access.ReadOnly::new);
    TokenStore.Created created = tokens.create(wanted.name(), access, wanted.expires());
    return ApiResponse.json(
        201,
        ViewJson.of(
            new CreatedToken(TokenView.of(created.info(), clock.instant()), created.secret())));
  }

  private ApiResponse remove(ApiRequest call) {
    tokens.remove(call.path("name"));
    return ApiResponse.done();
  }
}
