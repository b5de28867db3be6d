package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Inline;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Text;
import dev.zlayer.spec.value.AddressRange;
import dev.zlayer.spec.value.HostNames;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Which requests the ingress sends to an endpoint, and how. */
@Doc("Which requests the ingress sends to an endpoint, and how.")
public record RouteSpec(
    @Doc(
            "Hosts whose requests the ingress sends here, on its own ports; *.example.org is every"
                + " name below, * every host.")
        Optional<HostNames> host,
    @Doc("Only requests whose path is this or lies below it.")
        @Text(
            pattern = "/[A-Za-z0-9._~@:+,=/-]*",
            write = "a path of letters, digits and ._~@:+,=- that begins with /")
        Optional<String> path,
    @Doc("Remove path from the request before it is sent to a replica.") @Default("false")
        boolean stripPrefix,
    @Doc("How a replica is chosen.") @Default("round_robin") Balance balance,
    @Doc("Send the requests of a client to the same replica, by a cookie.") @Default("false")
        boolean sticky,
    @Doc("How long requests wait while no replica is ready (default: not at all).")
        Optional<Duration> hold,
    @Doc(
            "How often a request is sent again, to another replica if there is one, when a"
                + " connection fails; after it was sent only if it is idempotent and no byte of the"
                + " response arrived.")
        @Default("2")
        @Range(min = 0, max = 10)
        int retries,
    @Doc("Time limits.") Optional<Timeouts> timeouts,
    @Doc("Headers that are set.") Optional<Headers> headers,
    @Doc("Only clients with these addresses.") List<AddressRange> allow,
    @Doc("No clients with these addresses.") List<AddressRange> deny,
    @Doc(
            "Requests per second that one client address may send; more are answered with 429. 0"
                + " is no limit.")
        @Default("0")
        @Range(min = 0, max = 1_000_000)
        int rateLimit,
    @Doc("Compress texts with gzip for clients that accept it.") @Default("false") boolean compress,
    @Inline EncryptionSpec encryption,
    @Inline RoutePolicy policy) {

  /** An endpoint that the ingress does not serve. */
  public static final RouteSpec NONE =
      new RouteSpec(
          Optional.empty(),
          Optional.empty(),
          false,
          Balance.ROUND_ROBIN,
          false,
          Optional.empty(),
          2,
          Optional.empty(),
          Optional.empty(),
          List.of(),
          List.of(),
          0,
          false,
          EncryptionSpec.NONE,
          RoutePolicy.NONE);

  public RouteSpec {
    allow = List.copyOf(allow);
    deny = List.copyOf(deny);
  }

  /** How a replica is chosen. */
  public enum Balance {
    ROUND_ROBIN,
    LEAST_CONNECTIONS,
    CLIENT_ADDRESS
  }

  /** Time limits of an endpoint. */
  @Doc("Time limits of an endpoint.")
  public record Timeouts(
      @Doc("Until a replica accepts a connection (default: 5s).") Optional<Duration> connect,
      @Doc("Until a replica sends the next part of a response (default: 60s).")
          Optional<Duration> response,
      @Doc("Without traffic on a WebSocket or another tunnel (default: 1h).")
          Optional<Duration> tunnel) {}

  /** Headers that the ingress sets. */
  @Doc("Headers that the ingress sets.")
  public record Headers(
      @Doc("On requests to replicas.") Map<String, String> request,
      @Doc("On responses to clients.") Map<String, String> response) {}

  /** Whether the ingress serves the endpoint. */
  public boolean routed() {
    return host.isPresent() || path.isPresent();
  }

  /** The hosts, all if none is named. */
  public List<String> hosts() {
    return host.map(HostNames::names).orElse(List.of(HostNames.ANY));
  }

  /** The path without a slash at its end, so empty when all are meant. */
  public String prefix() {
    return path.map(text -> text.replaceAll("/+$", "")).orElse("");
  }
}
