package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.value.SignalName;
import java.time.Duration;
import java.util.Optional;

/** How the main process is set up and ended. */
public record ProcessSpec(
    @Doc("Give the process a terminal.") @Default("false") boolean tty,
    @Doc("Keep its standard input open.") @Default("false") boolean stdinOpen,
    @Doc("Run a small init as process 1 that reaps orphans.") @Default("false")
        boolean initContainer,
    @Doc("Signal that asks the process to end; the image's, or SIGTERM.")
        Optional<SignalName> stopSignal,
    @Doc("How long it may take to end before it is killed; 30s when absent.")
        Optional<Duration> stopGracePeriod) {}
