package dev.zlayer.engine.init;

import dev.zlayer.engine.translate.EnvResolver;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.spec.service.InitAction.HostRun;
import dev.zlayer.spec.service.InitAction.Run;
import dev.zlayer.spec.service.InitAction.S3Pull;
import dev.zlayer.spec.service.InitAction.S3Push;
import dev.zlayer.spec.service.InitAction.WaitHttp;
import dev.zlayer.spec.service.InitAction.WaitTcp;
import dev.zlayer.task.Pauses;
import javax.net.ssl.SSLContext;

/** From what a step says to something that can be done. */
final class InitActions {
  private final ContainerRuntime runtime;
  private final EnvResolver resolver;
  private final InitConfig config;
  private final SSLContext tls;
  private final Pauses pauses;

  InitActions(
      ContainerRuntime runtime,
      EnvResolver resolver,
      InitConfig config,
      SSLContext tls,
      Pauses pauses) {
    this.runtime = runtime;
    this.resolver = resolver;
    this.config = config;
    this.tls = tls;
    this.pauses = pauses;
  }

  /** Throws when the action is not allowed or refers to something that does not exist. */
  InitAction of(Initializer.Request request, int step) {
    return switch (request.init().steps().get(step).action()) {
      case WaitTcp wanted -> new WaitTcpAction(wanted, pauses);
      case WaitHttp wanted ->
          new WaitHttpAction(
              wanted,
              resolver.resolve(request.owner().deployment(), wanted.headers()),
              tls,
              pauses);
      case Run wanted ->
          new RunAction(
              wanted, Initializer.helper(request.owner(), step), request.container(), runtime);
      case HostRun wanted -> {
        if (!config.hostCommands()) {
          throw new AgentException.Unsupported(
              "init.host_run is off: use init.run, or allow it in the agent's configuration");
        }
        yield new HostRunAction(wanted);
      }
      case S3Push _ -> throw noStore("init.s3_push");
      case S3Pull _ -> throw noStore("init.s3_pull");
    };
  }

  private static AgentException.Unsupported noStore(String action) {
    return new AgentException.Unsupported(
        action + " is not built yet: use init.run with a client in the image");
  }
}
