package dev.zlayer.runtime.wasm;

import dev.zlayer.testkit.wasm.WasmMaker;

/** Modules for tests. */
final class Modules {
  private Modules() {}

  /** Does what its arguments say, one after the other. */
  static byte[] workload() {
    return WasmMaker.ofC(
        """
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <time.h>
        static void pause_ms(long ms) {
          struct timespec t = {ms / 1000, (ms % 1000) * 1000000};
          nanosleep(&t, 0);
        }
        int main(int argc, char **argv) {
          setvbuf(stdout, 0, _IONBF, 0);
          for (int i = 1; i < argc; i++) {
            if (!strncmp(argv[i], "out:", 4)) { printf("%s\\n", argv[i] + 4); }
            else if (!strncmp(argv[i], "err:", 4)) { fprintf(stderr, "%s\\n", argv[i] + 4); }
            else if (!strncmp(argv[i], "sleep:", 6)) { pause_ms(atol(argv[i] + 6)); }
            else if (!strncmp(argv[i], "exit:", 5)) { exit(atoi(argv[i] + 5)); }
            else if (!strcmp(argv[i], "forever")) { for (;;) pause_ms(1000000); }
            else if (!strcmp(argv[i], "spin")) { for (volatile unsigned n = 0;; n++) {} }
            else { return 99; }
          }
          return 0;
        }
        """);
  }

  /** Prints and ends, without a library. */
  static byte[] hello() {
    return WasmMaker.ofText(
        """
        (module
          (import "wasi_snapshot_preview1" "fd_write"
            (func $write (param i32 i32 i32 i32) (result i32)))
          (memory (export "memory") 1)
          (data (i32.const 0) "\\10\\00\\00\\00\\06\\00\\00\\00")
          (data (i32.const 16) "hello\\n")
          (func (export "_start")
            (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))
        """);
  }

  /** A loop without any call. */
  static byte[] spin() {
    return WasmMaker.ofText(
        "(module (memory (export \"memory\") 1) (func (export \"_start\") (loop (br 0))))");
  }
}
