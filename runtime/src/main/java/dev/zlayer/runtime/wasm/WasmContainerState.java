package dev.zlayer.runtime.wasm;

import dev.zlayer.container.Outcome;
import dev.zlayer.host.file.ContainerDir;
import dev.zlayer.runtime.lifecycle.Phase;
import dev.zlayer.runtime.lifecycle.RecordedState;
import java.io.IOException;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** One container, and the thread that runs it if it runs. */
final class WasmContainerState extends RecordedState<WasmRecord> {
  private final AtomicReference<@Nullable ModuleLoop> loop = new AtomicReference<>();

  WasmContainerState(ContainerDir directory, WasmRecord record) {
    super(directory, record);
  }

  static Optional<WasmRecord> read(ContainerDir directory) throws IOException {
    return load(directory, WasmRecord.class);
  }

  /** The one that runs now. */
  Optional<ModuleLoop> loop() {
    return record().phase() == Phase.RUNNING ? Optional.ofNullable(loop.get()) : Optional.empty();
  }

  void running(Instant now, ModuleLoop next) {
    loop.set(next);
    save(record -> record.running(now));
  }

  void ended(Outcome outcome) {
    ModuleLoop last = loop.get();
    end(record().run(), outcome);
    // its memory is not needed any more; another one may run by now
    loop.compareAndSet(last, null);
  }

  void stopping() {
    view().update(now -> now.stopping(now.record().phase() == Phase.RUNNING));
  }
}
