package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;

/** What happens to a container that has ended. */
@Doc("What happens to a container that has ended.")
public record ExitSpec(
    @Doc("Remove the container when it has ended.") @Default("false") boolean deleteOnExit) {}
