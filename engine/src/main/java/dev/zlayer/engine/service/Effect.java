package dev.zlayer.engine.service;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.engine.health.Probe;
import dev.zlayer.port.Container;
import dev.zlayer.spec.ServiceSpec;
import java.time.Duration;
import java.util.List;

/** Something to do once the decision behind it is durable; its end is reported to the book. */
sealed interface Effect {
  /** Find out what containers are made from; only an outline while none is wanted. */
  record Resolve(ServiceRevision blueprint, boolean outline) implements Effect {}

  record Start(ContainerId id, ContainerSpec spec, ServiceSpec service) implements Effect {}

  /** Create a container that is started later, or never. */
  record Prepare(Start start) implements Effect {}

  /** Start a container that was created ahead; one that does not fit any more is made anew. */
  record Release(Start start, Container container) implements Effect {}

  /** Give up a start that is under way. */
  record Cancel(ContainerId id) implements Effect {}

  /**
   * Let connections end, and stop it.
   *
   * @param drain how long connections have at most
   * @param grace how long its process has, once asked
   */
  record Stop(ContainerId id, Container container, Duration drain, Duration grace)
      implements Effect {}

  record Remove(ContainerId id, Container container) implements Effect {}

  /** Wait for the end of a process. */
  record Watch(ContainerId id, Container container) implements Effect {}

  record Check(ContainerId id, Container container, Probe probe, Duration timeout)
      implements Effect {}

  /** Read the load of replicas; {@code requests}: also how many requests came. */
  record Measure(List<Container> containers, boolean requests) implements Effect {}

  /** Read how many requests came: for a roll-out, or to see whether there are any. */
  record CountRequests(boolean rollout) implements Effect {}

  /** Report the next request. */
  record AwaitRequest() implements Effect {}
}
