package dev.zlayer.spec.service;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.value.SignalName;
import java.time.Duration;
import java.util.Optional;

/** How the main process is set up and ended. */
public record ProcessSettings(
    @Doc("Allocate a terminal.") @Default("false") boolean tty,
    @Doc("Keep standard input open.") @Default("false") boolean stdinOpen,
    @Doc("Run an init process that forwards signals and reaps processes.") @Default("false")
        boolean initContainer,
    @Doc("Signal to stop the process (default: the image's, or SIGTERM).")
        Optional<SignalName> stopSignal,
    @Doc("Time to wait before the process is killed (default: 10s).")
        Optional<Duration> stopGracePeriod) {}
