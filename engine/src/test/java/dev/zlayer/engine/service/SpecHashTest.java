package dev.zlayer.engine.service;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.engine.job.Jobs;
import org.junit.jupiter.api.Test;

final class SpecHashTest {
  /**
   * The hash of a job that others wait for is stored. A new key of the deployment file with a
   * default would change it, and such jobs, migrations for example, would run again after an update
   * of the agent: make the key optional instead.
   */
  @Test
  void aFileHasTheHashThatEarlierVersionsStored() {
    String service =
        """
        migrate:
          rtype: job
          image: shop:1
          command: [migrate]
          endpoints: [{name: http, protocol: http, port: 80}]
          health: {check: {type: tcp, port: 80}}
          scale: {mode: fixed, replicas: 2}
          job: {retries: 1}
        """;

    assertThat(SpecHash.of("", Jobs.parse(service).getFirst().service()))
        .isEqualTo("42f02c62ce8d55c86764ed14");
  }
}
