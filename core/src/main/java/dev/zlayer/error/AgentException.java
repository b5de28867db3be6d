package dev.zlayer.error;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Everything that can go wrong, in twenty-one kinds that carry facts.
 *
 * <p>Two rules keep the kinds meaningful. One of ours is never wrapped in another of ours: a {@link
 * RouteToPeer} thrown deep inside a create reaches the scheduler as itself. A foreign exception is
 * translated once, where it is caught, and stays as the cause.
 *
 * <p>Messages are lower case, without a full stop, and name the thing that failed.
 */
public abstract sealed class AgentException extends RuntimeException {
  private AgentException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }

  /** The stable name of this kind, as used in JSON and in events. */
  public final String kind() {
    return getClass().getSimpleName();
  }

  /** Who has to act. */
  public final Blame blame() {
    return switch (this) {
      case NotFound _, InvalidSpec _, Unsupported _, Conflict _ -> Blame.REQUEST;
      case CreateFailed _,
          StartFailed _,
          InitActionFailed _,
          UnexpectedExit _,
          HealthCheckFailed _ ->
          Blame.WORKLOAD;
      case PullFailed _, Network _, Timeout _, DependencyTimeout _, Busy _, Unavailable _ ->
          Blame.OUTSIDE;
      case RouteToPeer _, WrongPlatform _, WslGpuUnavailable _, GpuSharingUnavailable _ ->
          Blame.PLACEMENT;
      case Configuration _, Internal _ -> Blame.SELF;
    };
  }

  /** Whether another node may be able to do what this one cannot. */
  public final boolean elsewhere() {
    return blame() == Blame.PLACEMENT;
  }

  private static String withLog(String message, List<String> lastLines) {
    return lastLines.isEmpty()
        ? message
        : message + "; last output:\n  " + String.join("\n  ", lastLines);
  }

  /** The named thing (container, image, service, execution, volume ...) does not exist. */
  public static final class NotFound extends AgentException {
    private final String what;

    public NotFound(String what, String reason) {
      super(what + " not found: " + reason, null);
      this.what = what;
    }

    public String what() {
      return what;
    }
  }

  /** The request is sound, but does not fit the present state: a name is taken, it still runs. */
  public static final class Conflict extends AgentException {
    public Conflict(String message) {
      super(message, null);
    }
  }

  /** A queue or a limit is used up for now: the same request may succeed later. */
  public static final class Busy extends AgentException {
    public Busy(String message) {
      super(message, null);
    }
  }

  /** The agent or a part of it is shutting down: the same request may succeed when it is back. */
  public static final class Unavailable extends AgentException {
    public Unavailable(String message) {
      super(message, null);
    }
  }

  /** An image could not be fetched. */
  public static final class PullFailed extends AgentException {
    private final String image;

    public PullFailed(String image, String reason) {
      this(image, reason, null);
    }

    public PullFailed(String image, String reason, @Nullable Throwable cause) {
      super("failed to pull image '" + image + "': " + reason, cause);
      this.image = image;
    }

    public String image() {
      return image;
    }
  }

  /** A container could not be made; whatever was half made is gone again. */
  public static final class CreateFailed extends AgentException {
    private final String id;

    public CreateFailed(String id, String reason) {
      this(id, reason, null);
    }

    public CreateFailed(String id, String reason, @Nullable Throwable cause) {
      super("failed to create container '" + id + "': " + reason, cause);
      this.id = id;
    }

    public String id() {
      return id;
    }
  }

  /** A container was made but its process could not be started; carries its last output. */
  public static final class StartFailed extends AgentException {
    private final String id;
    private final List<String> lastLines;

    public StartFailed(String id, String reason, List<String> lastLines) {
      this(id, reason, lastLines, null);
    }

    public StartFailed(
        String id, String reason, List<String> lastLines, @Nullable Throwable cause) {
      super(withLog("failed to start container '" + id + "': " + reason, lastLines), cause);
      this.id = id;
      this.lastLines = List.copyOf(lastLines);
    }

    public String id() {
      return id;
    }

    public List<String> lastLines() {
      return lastLines;
    }
  }

  /** A process that should have gone on has ended; carries its last output. */
  public static final class UnexpectedExit extends AgentException {
    private final String id;
    private final int code;
    private final List<String> lastLines;

    public UnexpectedExit(String id, int code, List<String> lastLines) {
      super(withLog("container '" + id + "' exited with code " + code, lastLines), null);
      this.id = id;
      this.code = code;
      this.lastLines = List.copyOf(lastLines);
    }

    public String id() {
      return id;
    }

    public int code() {
      return code;
    }

    public List<String> lastLines() {
      return lastLines;
    }
  }

  /** A wait depended on a container's health, and it is unhealthy. */
  public static final class HealthCheckFailed extends AgentException {
    private final String id;

    public HealthCheckFailed(String id, String reason) {
      super("health check failed for '" + id + "': " + reason, null);
      this.id = id;
    }

    public String id() {
      return id;
    }
  }

  /** A step that has to succeed before the container starts did not; the reason names the step. */
  public static final class InitActionFailed extends AgentException {
    private final String id;

    public InitActionFailed(String id, String reason) {
      this(id, reason, null);
    }

    public InitActionFailed(String id, String reason, @Nullable Throwable cause) {
      super("init action failed for '" + id + "': " + reason, cause);
      this.id = id;
    }

    public String id() {
      return id;
    }
  }

  /** A deadline passed. */
  public static final class Timeout extends AgentException {
    private final Duration limit;

    public Timeout(String doing, Duration limit) {
      super("timed out after " + Durations.print(limit) + " while " + doing, null);
      this.limit = limit;
    }

    public Duration limit() {
      return limit;
    }
  }

  /** A service waited for another one in vain. */
  public static final class DependencyTimeout extends AgentException {
    private final String service;
    private final String dependency;
    private final String condition;
    private final Duration limit;

    public DependencyTimeout(String service, String dependency, String condition, Duration limit) {
      super(
          "service '%s' timed out waiting for '%s' to be %s after %s"
              .formatted(service, dependency, condition, Durations.print(limit)),
          null);
      this.service = service;
      this.dependency = dependency;
      this.condition = condition;
      this.limit = limit;
    }

    public String service() {
      return service;
    }

    public String dependency() {
      return dependency;
    }

    public String condition() {
      return condition;
    }

    public Duration limit() {
      return limit;
    }
  }

  /** The caller asked for something that cannot be meant; says what to write instead. */
  public static final class InvalidSpec extends AgentException {
    public InvalidSpec(String reason) {
      this(reason, null);
    }

    public InvalidSpec(String reason, @Nullable Throwable cause) {
      super(reason, cause);
    }
  }

  /** A peer could not be reached, or a network could not be set up. */
  public static final class Network extends AgentException {
    public Network(String reason) {
      this(reason, null);
    }

    public Network(String reason, @Nullable Throwable cause) {
      super(reason, cause);
    }
  }

  /** This node lacks something or is set up wrongly; says what to install or change. */
  public static final class Configuration extends AgentException {
    public Configuration(String reason) {
      this(reason, null);
    }

    public Configuration(String reason, @Nullable Throwable cause) {
      super(reason, cause);
    }
  }

  /** A fault of the agent itself. */
  public static final class Internal extends AgentException {
    public Internal(String reason) {
      this(reason, null);
    }

    public Internal(String reason, @Nullable Throwable cause) {
      super(reason, cause);
    }
  }

  /** This runtime has no such operation; says why. */
  public static final class Unsupported extends AgentException {
    public Unsupported(String reason) {
      super("not supported: " + reason, null);
    }
  }

  /**
   * A GPU was asked for and the WSL kernel does not expose one; running without it is no option.
   */
  public static final class WslGpuUnavailable extends AgentException {
    public WslGpuUnavailable(String reason) {
      super("gpu requested but WSL2 GPU support not available on this host: " + reason, null);
    }
  }

  /**
   * A GPU sharing mode was asked for and this host cannot give it; exclusive use is no substitute.
   */
  public static final class GpuSharingUnavailable extends AgentException {
    private final String mode;

    public GpuSharingUnavailable(String mode, String reason) {
      super("gpu sharing mode '" + mode + "' is unavailable: " + reason, null);
      this.mode = mode;
    }

    public String mode() {
      return mode;
    }
  }

  /** A signal, not a failure: the workload has to run on a node of another operating system. */
  public static final class RouteToPeer extends AgentException {
    private final String service;
    private final String requiredOs;
    private final String reason;

    public RouteToPeer(String service, String requiredOs, String reason) {
      super(
          "service '%s' needs a node that runs %s: %s".formatted(service, requiredOs, reason),
          null);
      this.service = service;
      this.requiredOs = requiredOs;
      this.reason = reason;
    }

    /** The same signal for whom it is meant: an image is known before its service is. */
    public RouteToPeer of(String service) {
      return new RouteToPeer(service, requiredOs, reason);
    }

    public String service() {
      return service;
    }

    public String requiredOs() {
      return requiredOs;
    }

    /**
     * What can be done about it: something on a node there is, or another node.
     *
     * @param where the node, or a word for those there are
     */
    public static String remedies(String os, String where) {
      String runtime =
          switch (os) {
            case "linux" ->
                "a runtime for linux (its own needs root or rootless mode, 'zlayer info' lists what"
                    + " is missing; or docker, or wsl)";
            case "windows" -> "the docker runtime with an engine for windows";
            case "wasi" -> "the wasm runtime";
            default -> "a runtime for " + os;
          };
      return "enable %s on %s, or add a peer that runs %s to the cluster"
          .formatted(runtime, where, os);
    }
  }

  /** A signal, not a failure: this runtime does not serve the image's platform, another may. */
  public static final class WrongPlatform extends AgentException {
    private final String runtime;
    private final String expected;
    private final String actual;
    private final String image;

    public WrongPlatform(String runtime, String expected, String actual, String image) {
      super(
          "runtime '%s' serves %s, but image '%s' is for %s"
              .formatted(runtime, expected, image, actual),
          null);
      this.runtime = runtime;
      this.expected = expected;
      this.actual = actual;
      this.image = image;
    }

    public String runtime() {
      return runtime;
    }

    public String expected() {
      return expected;
    }

    public String actual() {
      return actual;
    }

    public String image() {
      return image;
    }
  }
}
