package dev.zlayer.engine.init;

/** Is told about steps as they happen, on the thread that runs them. */
@FunctionalInterface
public interface InitObserver {
  void report(StepReport report) throws InterruptedException;
}
