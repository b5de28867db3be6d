package dev.zlayer.engine.service;

import dev.zlayer.spec.job.BackoffSpec;
import dev.zlayer.spec.service.ErrorsSpec;
import dev.zlayer.spec.service.ExitSpec;
import dev.zlayer.spec.service.InitSpec;
import dev.zlayer.spec.service.LifecycleSpec;
import dev.zlayer.spec.service.ScaleSpec;
import dev.zlayer.spec.service.UpdateSpec;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** The settings of a service whose file is gone while containers of it are still there. */
final class DefaultLifecycle {
  static final LifecycleSpec SPEC =
      new LifecycleSpec(
          Optional.empty(),
          new ScaleSpec.Fixed(0),
          List.of(),
          List.of(),
          Optional.empty(),
          new InitSpec(List.of()),
          new ErrorsSpec(
              new ErrorsSpec.InitFailure(
                  ErrorsSpec.InitFailureAction.FAIL,
                  0,
                  new BackoffSpec(Duration.ofSeconds(1), Duration.ofSeconds(60), 2)),
              new ErrorsSpec.Panic(ErrorsSpec.PanicAction.RESTART)),
          Optional.empty(),
          new UpdateSpec(
              UpdateSpec.Strategy.STOP_FIRST,
              Optional.empty(),
              Optional.empty(),
              false,
              Duration.ZERO,
              Optional.empty(),
              Optional.empty(),
              Optional.empty(),
              Optional.empty()),
          new ExitSpec(false));

  private DefaultLifecycle() {}
}
