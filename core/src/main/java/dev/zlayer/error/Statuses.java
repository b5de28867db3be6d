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
}
