package dev.zlayer.daemon.rest;

import dev.zlayer.oci.PullPolicy;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Inline;
import java.time.Duration;
import java.util.Optional;

/** A container without a deployment: the keys of a service in a deployment file, and a few more. */
@Doc(
    "A container without a deployment: the keys of a service in a deployment file, and a few more.")
public record CreateContainer(
    @Doc("Its name; one is made up when absent.") Optional<String> name,
    @Doc("When to ask the registry; image.pull_policy when absent.") Optional<PullPolicy> pull,
    @Doc("Start it at once.") @Default("true") boolean start,
    @Doc("Remove it when it has ended.") @Default("false") boolean rm,
    @Doc("Delay of the removal after the exit, for readers of its output; with rm.") @Default("0s")
        Duration rmAfter,
    @Doc(
            "Remove it unless it is started within this time; for callers that may vanish"
                + " between making and starting it.")
        Optional<Duration> startWithin,
    @Doc("Size of its terminal when it starts; with tty.") Optional<TtySize> ttySize,
    @Doc("Where relative paths of bind mounts begin.") @Default("/") String directory,
    @Inline ServiceSpec container) {
  /** The size of a terminal in characters. */
  public record TtySize(@Doc("Lines.") int rows, @Doc("Characters per line.") int columns) {}
}
