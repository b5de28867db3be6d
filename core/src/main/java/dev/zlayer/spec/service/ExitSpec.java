package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;

/** What happens to a container that has ended. */
@Doc("What happens to a container that has ended.")
public record ExitSpec(
    @Doc(
            "Remove the container of a replica that has ended and is not started again; it is kept"
                + " for inspection otherwise.")
        @Default("false")
        boolean deleteOnExit) {}
