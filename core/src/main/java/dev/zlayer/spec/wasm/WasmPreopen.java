package dev.zlayer.spec.wasm;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Text;

/** A directory of the machine that a program sees. */
@Doc("A directory of the machine that a program sees.")
public record WasmPreopen(
    @Doc("Path on the machine.") @Text(pattern = ".*\\S.*", write = "a path") String source,
    @Doc("Path in the program.") @Text(pattern = ".*\\S.*", write = "a path") String target,
    @Doc("Whether it can only be read.") @Default("false") boolean readonly) {}
