package dev.zlayer.daemon.http;

import java.time.Instant;
import java.util.Optional;
import java.util.function.Consumer;

/** The scoped tokens that the TCP listener accepts besides the one of {@code token_file}. */
public interface Tokens {
  /** One of them, without its secret. */
  record Token(String id, String name, Caller.Access access, Optional<Instant> expires) {}

  /** The token with this secret, unless it has expired. */
  Optional<Token> find(String secret);

  /** Is called with the id of each token that is removed from now on. */
  void onRemoved(Consumer<String> listener);

  /** There are none. */
  Tokens NONE =
      new Tokens() {
        @Override
        public Optional<Token> find(String secret) {
          return Optional.empty();
        }

        @Override
        public void onRemoved(Consumer<String> listener) {}
      };
}
