package dev.zlayer.runtime.observe;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.StatsSample;
import java.time.Instant;

/** Gets the readings of a sampler, on whichever thread takes them; it must not block for long. */
public interface StatsListener {
  /** For nobody. */
  StatsListener NONE =
      new StatsListener() {
        @Override
        public void sampled(ContainerId id, StatsSample sample) {}

        @Override
        public void sampledAll(Instant now) {}
      };

  void sampled(ContainerId id, StatsSample sample);

  /** Every container was read. */
  void sampledAll(Instant now);
}
