package dev.zlayer.image.registry;

import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.RegistryAuth;
import dev.zlayer.task.Backoff;
import java.io.IOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/** All registries; holds the connections and what they granted. */
public final class Registry implements AutoCloseable {
  private static final int ATTEMPTS = 5;
  private static final Backoff BACKOFF =
      new Backoff(Duration.ofMillis(500), Duration.ofSeconds(10), 2.0);

  private final RegistriesConfig config;
  private final RegistryTransport transport;
  private final LoopbackTls loopback;
  private final Authorizer authorizer;
  private final Retries retries;
  private final RangesAhead.Division division;

  /** Configured credentials of a host come before those of {@code credentials}. */
  public Registry(
      RegistriesConfig config,
      ForwardProxies proxies,
      Credentials credentials,
      Timeouts timeouts,
      InstantSource clock) {
    this(config, proxies, credentials, timeouts, clock, Retries.REAL, RangesAhead.Division.DEFAULT);
  }

  Registry(
      RegistriesConfig config,
      ForwardProxies proxies,
      Credentials credentials,
      Timeouts timeouts,
      InstantSource clock,
      Retries.Pause pause,
      RangesAhead.Division division) {
    this.config = config;
    this.division = division;
    this.transport = new RegistryTransport(config, proxies, timeouts);
    this.loopback = new LoopbackTls(config, transport);
    Credentials configured = host -> config.of(host).credentials();
    this.authorizer = new Authorizer(transport, configured.or(credentials), clock);
    this.retries =
        new Retries(
            ATTEMPTS, BACKOFF, timeouts.longestRetryAfter(), RandomGenerator.getDefault(), pause);
  }

  /**
   * The repository of an image.
   *
   * @param auth instead of the configured credentials for the image's registry
   * @param notices told when something is tried again or elsewhere
   */
  public Repository repository(
      ImageRef image, Optional<RegistryAuth> auth, Consumer<String> notices) {
    return new Repository(image, auth, this, notices);
  }

  /**
   * The repository of an image, to be written to.
   *
   * @param auth instead of the configured credentials for the image's registry
   */
  public PushRepository pushTo(
      ImageRef image, Optional<RegistryAuth> auth, Consumer<String> notices)
      throws RegistryException {
    return new PushRepository(image, auth, this, notices);
  }

  /** Asks a registry whether it accepts the credentials; throws when it does not. */
  public void login(String host, RegistryAuth auth) throws IOException, InterruptedException {
    loopback.ask(
        RegistryEndpoint.of(host, config),
        endpoint -> retries.call(_ -> {}, () -> login(endpoint, Optional.of(auth))));
  }

  private boolean login(RegistryEndpoint endpoint, Optional<RegistryAuth> auth)
      throws IOException, InterruptedException {
    RegistryTransport.Ask ask = RegistryTransport.Ask.of("GET", endpoint.base(), Map.of());
    try (RegistryResponse answer = authorizer.send(endpoint, auth, Scope.LOGIN, ask)) {
      if (!answer.ok()) {
        throw answer.failure(endpoint.name(), "its API", authorizer.now());
      }
      answer.body().drain();
      return true;
    }
  }

  LoopbackTls loopback() {
    return loopback;
  }

  RegistriesConfig config() {
    return config;
  }

  Authorizer authorizer() {
    return authorizer;
  }

  RangesAhead.Division division() {
    return division;
  }

  Retries retries() {
    return retries;
  }

  @Override
  public void close() {
    transport.close();
  }
}
