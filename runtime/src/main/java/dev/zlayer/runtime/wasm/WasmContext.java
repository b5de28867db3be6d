package dev.zlayer.runtime.wasm;

import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.file.DirectoryWatchLoop;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.oci.Digest;
import dev.zlayer.runtime.lifecycle.MemoryLogs;
import dev.zlayer.runtime.lifecycle.View;
import dev.zlayer.runtime.wasm.module.MemoryBudget;
import dev.zlayer.runtime.wasm.module.Programs;
import dev.zlayer.task.KeyedLock;
import java.io.IOException;
import java.nio.file.Files;
import java.time.InstantSource;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Everything the steps of a container's life share.
 *
 * @param states by runtime name; only those that were created
 * @param known which module an image was found to hold
 */
record WasmContext(
    DataDir dirs,
    WasmSettings settings,
    Programs programs,
    MemoryBudget budget,
    DirectoryWatchLoop logWatch,
    InstantSource clock,
    Map<String, WasmContainerState> states,
    Map<Digest, Digest> known,
    KeyedLock<String> locks) {
  WasmContext(
      DataDir dirs,
      WasmSettings settings,
      Programs programs,
      MemoryBudget budget,
      DirectoryWatchLoop logWatch,
      InstantSource clock) {
    this(
        dirs,
        settings,
        programs,
        budget,
        logWatch,
        clock,
        new ConcurrentHashMap<>(),
        new ConcurrentHashMap<>(),
        new KeyedLock<>());
  }

  /** Takes everything of a container away, its record last; can be done again. */
  void dismantle(WasmContainerState state) throws IOException {
    RootedDirectory.removeTree(dirs.anonymousVolumes(state.name()));
    MemoryLogs.unmount(state);
    RootedDirectory.removeTree(state.directory().logs());
    Files.deleteIfExists(state.directory().recordFile());
    RootedDirectory.removeTree(state.directory().path());
    states.remove(state.name());
    state.view().update(View::gone);
  }
}
