package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.task.TaskScope;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Many containers, some at a time, with and without a network: nothing is left of any. */
class ChurnIT extends OnStage {
  private static final int COUNT = 500;
  private static final int AT_ONCE = 200;
  private static final int PARALLEL = 8;

  @Test
  void manyComeAndGo() throws Exception {
    try (var scope = new TaskScope("churn", PARALLEL)) {
      for (int i = 0; i < COUNT; i++) {
        int code = i % 100;
        ContainerSpec spec = RuntimeFixture.script("exit " + code);
        boolean connected = i % 4 == 0;
        scope.fork(
            () -> {
              var outcome = fixture.run(connected ? spec.withNetwork(NetworkSpec.DEFAULT) : spec);
              assertThat(outcome.status()).isEqualTo(new ExitStatus.Code(code));
              return code;
            });
      }
      scope.join();
    }
    assertThat(fixture.runtime.list()).isEmpty();
  }

  @Test
  void manyStartAtOnce() throws Exception {
    try (var scope = new TaskScope("herd")) {
      for (int i = 0; i < AT_ONCE; i++) {
        scope.fork(
            () -> {
              var outcome = fixture.run(RuntimeFixture.script("exit 7"));
              assertThat(outcome.status()).isEqualTo(new ExitStatus.Code(7));
              return true;
            });
      }
      scope.join();
    }
    assertThat(fixture.runtime.list()).isEmpty();
  }

  @AfterAll
  void nothingIsLeft() throws Exception {
    new Leaks(directory).assertNone();
  }
}
