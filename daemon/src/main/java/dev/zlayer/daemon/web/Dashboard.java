package dev.zlayer.daemon.web;

import dev.zlayer.daemon.http.DashboardListener;
import dev.zlayer.daemon.http.HttpListener;
import dev.zlayer.daemon.http.RestApi;
import dev.zlayer.daemon.http.Router;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The dashboard and its listener. Without {@code dashboard_listen} nothing listens until somebody
 * asks for a link: most hosts never serve the page, and agents of one host do not contend for a
 * port. The port is kept, and opened again by the next agent while a session has not expired, so
 * that open pages find it.
 */
public final class Dashboard {
  private static final String KIND = "dashboard";
  private static final String PORT = "port";

  private final Optional<DashboardListener> settings;
  private final DashboardSessions sessions;
  private final StateStore store;
  private final InstantSource clock;
  private @Nullable HttpListener listener;
  private @Nullable Router router;
  private int port;

  /** A link for a browser. */
  public record Link(String url, Instant expires) {
    @Override
    public String toString() {
      return "Link[" + expires + "]";
    }
  }

  /**
   * @param settings where it listens; empty where it is switched off
   */
  public Dashboard(
      Optional<DashboardListener> settings,
      DashboardSessions sessions,
      StateStore store,
      InstantSource clock) {
    this.settings = settings;
    this.sessions = sessions;
    this.store = store;
    this.clock = clock;
  }

  public DashboardSessions sessions() {
    return sessions;
  }

  /**
   * Opens it now when the operator chose an address, or pages are open that look for it.
   *
   * @throws AgentException.Configuration the operator's address cannot be had
   */
  public synchronized Dashboard begin(
      HttpListener listener, Router router, boolean chosen, Log log) {
    this.listener = listener;
    this.router = router;
    if (settings.isEmpty()) {
      return this;
    }
    if (chosen) {
      open(settings.get());
    } else if (!sessions.list().isEmpty() && keptPort().isPresent()) {
      try {
        open(settings.get().at(keptPort().get()));
      } catch (AgentException.Configuration e) {
        log.warn(
            "open pages of the dashboard cannot reach it: run 'zlayer dashboard' for another link",
            Map.of("reason", String.valueOf(e.getMessage())));
      }
    }
    return this;
  }

  /**
   * Makes a link that begins one session; opens the listener when it is not open.
   *
   * @param user for whom
   */
  public synchronized Link createLink(String user, boolean readOnly, Duration lifetime) {
    DashboardListener wanted =
        settings.orElseThrow(
            () ->
                new AgentException.Configuration(
                    "the dashboard is off: set dashboard_listen to an address, or remove it"));
    String secret = sessions.createLink(user, readOnly, lifetime);
    if (port == 0) {
      reopen(wanted);
    }
    return new Link(
        wanted.url(port) + "#token=" + secret, clock.instant().plus(DashboardSessions.LINK));
  }

  /** On the port of earlier, if it is free. */
  private void reopen(DashboardListener wanted) {
    if (keptPort().isPresent()) {
      try {
        open(wanted.at(keptPort().get()));
        return;
      } catch (AgentException.Configuration _) {
        // another one is as good
      }
    }
    open(wanted);
  }

  private void open(DashboardListener wanted) {
    HttpListener server = listener;
    Router routes = router;
    if (server == null || routes == null) {
      throw new AgentException.Unavailable("the agent is starting: try again");
    }
    var api = new DashboardApi(new RestApi(routes), sessions, clock, wanted.tls().isPresent());
    port = server.add(wanted, api, sessions);
    store.commit(
        Change.of(
            new Change.Put(KIND, PORT, String.valueOf(port).getBytes(StandardCharsets.US_ASCII))));
  }

  private Optional<Integer> keptPort() {
    return store
        .find(KIND, PORT)
        .map(bytes -> Integer.parseInt(new String(bytes, StandardCharsets.US_ASCII)));
  }
}
