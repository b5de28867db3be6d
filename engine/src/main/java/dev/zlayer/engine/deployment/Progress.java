package dev.zlayer.engine.deployment;

import dev.zlayer.engine.service.ServiceStatus;
import dev.zlayer.engine.state.EventPage;
import dev.zlayer.port.PullEvent;

/** What a person who waits for a deployment sees on the way. */
public sealed interface Progress {
  /** Something became durable. */
  record Happened(EventPage.Numbered event) implements Progress {}

  /** An image comes in; may be left out when the reader is slow. */
  record Pulling(String service, String image, PullEvent event) implements Progress {}

  /** A service looks different than before. */
  record Changed(ServiceStatus service) implements Progress {}
}
