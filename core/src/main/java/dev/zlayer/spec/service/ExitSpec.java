package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;

/** What happens to a container that has ended. */
@Doc("What happens to a container that has exited.")
public record ExitSpec(
    @Doc(
            "Remove the container of a replica that exited and is not restarted; otherwise it is "
                + "kept for inspection.")
        @Default("false")
        boolean deleteOnExit) {}
