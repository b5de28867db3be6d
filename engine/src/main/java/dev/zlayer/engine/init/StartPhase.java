package dev.zlayer.engine.init;

import dev.zlayer.spec.service.InitSpec;
import java.util.Optional;

/**
 * What is being done before a process runs, for the reason of a failure. Entered by the thread that
 * does it; read by any.
 */
public final class StartPhase {
  private volatile Optional<String> doing = Optional.empty();

  public void enter(String what) {
    doing = Optional.of(what);
  }

  /** Counted from 1, as the file lists them. */
  public void enterStep(InitSpec init, StepReport report) {
    for (int i = 0; i < init.steps().size(); i++) {
      if (init.steps().get(i).id().equals(report.step())) {
        enter("init step " + (i + 1));
      }
    }
  }

  /** What follows needs no name: its errors say what they are about. */
  public void leave() {
    doing = Optional.empty();
  }

  public Optional<String> now() {
    return doing;
  }
}
