package dev.zlayer.daemon.http;

import java.util.Map;
import java.util.Optional;

/** Keeps who changed what. */
public interface AuditSink {
  /**
   * One request that changes something, or one that was refused before its route was known.
   *
   * @param remote the caller's address, of the TCP listener only
   * @param route the route's template
   * @param object names of what it is about, never values or bodies
   */
  record Entry(
      String listener,
      String who,
      Optional<String> remote,
      String method,
      String route,
      Map<String, String> object,
      int status) {}

  /** A change that was carried out or refused; durable when this returns. */
  void changed(Entry entry);

  /** A caller that could not prove who it is. Anybody can cause these, so their rate is bounded. */
  void unauthenticated(Entry entry);

  /** Nothing is kept. */
  AuditSink NONE =
      new AuditSink() {
        @Override
        public void changed(Entry entry) {}

        @Override
        public void unauthenticated(Entry entry) {}
      };
}
