package dev.zlayer.daemon.http;

import java.util.Optional;
import java.util.function.Consumer;

/** The sessions of browsers, which the listener of the dashboard accepts. */
public interface BrowserSessions {
  /**
   * One of them.
   *
   * @param csrf what its page sends along with every change
   */
  record Session(Tokens.Token token, String csrf) {}

  /** The name of the cookie, of this agent alone: ports do not separate cookies. */
  String cookie();

  /** The session of a value of that cookie, unless it has ended. */
  Optional<Session> find(String value);

  /** Is called with the id of each session that is revoked from now on. */
  void onRevoked(Consumer<String> listener);
}
