package dev.zlayer.spec.wasm;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Text;

/** A directory of the machine that a program sees. */
@Doc("A host directory that a program can access.")
public record WasmPreopen(
    @Doc("Host path.") @Text(pattern = ".*\\S.*", write = "a path") String source,
    @Doc("Path seen by the program.") @Text(pattern = ".*\\S.*", write = "a path") String target,
    @Doc("Mount read-only.") @Default("false") boolean readonly) {}
