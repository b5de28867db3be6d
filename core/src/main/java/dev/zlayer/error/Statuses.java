package dev.zlayer.error;

/** The only place that knows HTTP status numbers for our errors. */
public final class Statuses {
  private Statuses() {}

  /** The status under which the REST API reports {@code error}. */
  public static int of(AgentException error) {
    return switch (error) {
      case AgentException.NotFound _ -> 404;
      case AgentException.InvalidSpec _ -> 422;
      case AgentException.Unsupported _ -> 501;
      case AgentException.Busy _ -> 429;
      case AgentException.Conflict _,
          AgentException.CreateFailed _,
          AgentException.StartFailed _,
          AgentException.InitActionFailed _,
          AgentException.UnexpectedExit _,
          AgentException.HealthCheckFailed _ ->
          409;
      case AgentException.PullFailed _, AgentException.Network _ -> 502;
      case AgentException.Timeout _, AgentException.DependencyTimeout _ -> 504;
      case AgentException.RouteToPeer _, AgentException.WrongPlatform _ -> 421;
      case AgentException.Unavailable _,
          AgentException.WslGpuUnavailable _,
          AgentException.GpuSharingUnavailable _ ->
          503;
      case AgentException.Configuration _, AgentException.Internal _ -> 500;
    };
  }

  /** The status that clients of the Docker Engine know for {@code error}. */
  public static int docker(AgentException error) {
    return switch (error) {
      case AgentException.NotFound _ -> 404;
      case AgentException.InvalidSpec _,
          AgentException.Unsupported _,
          AgentException.StartFailed _,
          AgentException.WrongPlatform _,
          AgentException.RouteToPeer _ ->
          400;
      case AgentException.Conflict _ -> 409;
      case AgentException.Busy _, AgentException.Unavailable _ -> 503;
      case AgentException.CreateFailed _,
          AgentException.InitActionFailed _,
          AgentException.UnexpectedExit _,
          AgentException.HealthCheckFailed _,
          AgentException.PullFailed _,
          AgentException.Network _,
          AgentException.Timeout _,
          AgentException.DependencyTimeout _,
          AgentException.WslGpuUnavailable _,
          AgentException.GpuSharingUnavailable _,
          AgentException.Configuration _,
          AgentException.Internal _ ->
          500;
    };
  }
}
