package dev.zlayer.engine.init;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.engine.s3.S3Failure;
import dev.zlayer.engine.s3.S3Location;
import dev.zlayer.engine.s3.S3Transfer;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Archivable;
import dev.zlayer.port.Container;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.spec.service.InitAction.S3Pull;
import dev.zlayer.spec.service.InitAction.S3Push;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Rollback;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Copies files between a bucket and the volumes of the main container, through a container like it
 * that is made and never started: so paths mean what they mean inside, and no link leads out.
 */
final class S3Action implements PreparedAction {
  private static final Pattern NUMBERS = Pattern.compile("(\\d{1,10})(?::(\\d{1,10}))?");

  /** What is done with the files. */
  @FunctionalInterface
  private interface Work {
    String with(S3Transfer transfer, Archivable files) throws InterruptedException;
  }

  private final ContainerRuntime runtime;
  private final ContainerId helper;
  private final ContainerSpec main;
  private final S3Location location;
  private final Duration limit;
  private final Work work;

  private S3Action(
      ContainerRuntime runtime,
      ContainerId helper,
      ContainerSpec main,
      S3Location location,
      Duration limit,
      Work work) {
    this.runtime = runtime;
    this.helper = helper;
    this.main = main;
    this.location = location;
    this.limit = limit;
    this.work = work;
  }

  static S3Action push(
      S3Push wanted,
      S3Location location,
      ContainerId helper,
      ContainerSpec main,
      ContainerRuntime runtime) {
    return new S3Action(
        runtime,
        helper,
        main,
        location,
        wanted.timeout(),
        (transfer, files) -> transfer.push(files, wanted.source(), wanted.key()));
  }

  static S3Action pull(
      S3Pull wanted,
      S3Location location,
      ContainerId helper,
      ContainerSpec main,
      ContainerRuntime runtime) {
    requireShared(main, wanted.destination());
    return new S3Action(
        runtime,
        helper,
        main,
        location,
        wanted.timeout(),
        (transfer, files) -> transfer.pull(files, wanted.key(), wanted.destination(), owner(main)));
  }

  @Override
  public String perform(Deadline deadline) throws InterruptedException {
    return TimeLimit.within(deadline.atMost(limit), "copying files", this::transfer);
  }

  private String transfer() throws InterruptedException {
    Optional<Container> leftover = runtime.find(helper);
    if (leftover.isPresent()) {
      leftover.get().remove(true);
    }
    try (var rollback = new Rollback();
        var transfer = S3Transfer.open(location)) {
      Container container = runtime.create(helper, spec());
      rollback.add("remove " + helper, () -> container.remove(true));
      if (!(container instanceof Archivable files)) {
        throw new AgentException.Unsupported(
            "files cannot be copied into containers of the runtime " + runtime.name());
      }
      return work.with(transfer, files);
    } catch (S3Failure e) {
      throw new ActionFailed(String.valueOf(e.getMessage()), "");
    }
  }

  /** Nothing of it runs, so it needs no network. */
  private ContainerSpec spec() {
    return main.withNetwork(NetworkSpec.NONE);
  }

  /** What is written anywhere else goes with the helper, and the main container never sees it. */
  private static void requireShared(ContainerSpec main, String destination) {
    boolean shared =
        main.fileSystem().mounts().stream()
            .filter(
                mount ->
                    switch (mount) {
                      case Mount.Bind bind -> !bind.readOnly();
                      case Mount.Named named -> !named.readOnly();
                      case Mount.Anonymous _, Mount.Supplied _, Mount.Tmpfs _ -> false;
                    })
            .map(mount -> mount.target().replaceFirst("/+$", ""))
            .anyMatch(target -> destination.equals(target) || destination.startsWith(target + "/"));
    if (!shared) {
      throw new AgentException.InvalidSpec(
          "destination '%s' is in no named volume or writable directory of the service"
              .formatted(destination));
    }
  }

  static S3Transfer.Owner owner(ContainerSpec main) {
    var numbers = NUMBERS.matcher(main.process().user().orElse("0"));
    if (!numbers.matches()) {
      return new S3Transfer.Owner(0, 0);
    }
    long user = Long.parseLong(numbers.group(1));
    return new S3Transfer.Owner(
        user, numbers.group(2) == null ? user : Long.parseLong(numbers.group(2)));
  }
}
