package dev.zlayer.engine.init;

import dev.zlayer.engine.s3.S3Location;
import dev.zlayer.engine.translate.EnvResolver;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.DeploymentNames;
import dev.zlayer.spec.service.InitAction.HostRun;
import dev.zlayer.spec.service.InitAction.Run;
import dev.zlayer.spec.service.InitAction.S3Access;
import dev.zlayer.spec.service.InitAction.S3Pull;
import dev.zlayer.spec.service.InitAction.S3Push;
import dev.zlayer.spec.service.InitAction.WaitHttp;
import dev.zlayer.spec.service.InitAction.WaitTcp;
import dev.zlayer.task.Pauses;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;

/** From what a step says to something that can be done. */
final class InitActions {
  private final ContainerRuntime runtime;
  private final EnvResolver resolver;
  private final InitConfig config;
  private final Supplier<SSLContext> tls;
  private final DeploymentNames names;
  private final Pauses pauses;

  InitActions(
      ContainerRuntime runtime,
      EnvResolver resolver,
      InitConfig config,
      Supplier<SSLContext> tls,
      DeploymentNames names,
      Pauses pauses) {
    this.runtime = runtime;
    this.resolver = resolver;
    this.config = config;
    this.tls = tls;
    this.names = names;
    this.pauses = pauses;
  }

  /** Throws when the action is not allowed or refers to something that does not exist. */
  PreparedAction of(Initializer.Request request, int step) {
    return switch (request.init().steps().get(step).action()) {
      case WaitTcp wanted -> new WaitTcpAction(wanted, siblings(request), pauses);
      case WaitHttp wanted ->
          new WaitHttpAction(
              wanted,
              resolver.resolve(request.owner().deployment(), wanted.headers()),
              tls.get(),
              siblings(request),
              pauses);
      case Run wanted ->
          new RunAction(
              wanted, Initializer.helper(request.owner(), step), request.container(), runtime);
      case HostRun wanted -> {
        if (!config.hostCommands()) {
          throw new AgentException.Unsupported(
              "init.host_run is off on this node: use init.run, or set host_commands: true in the"
                  + " agent's configuration");
        }
        yield new HostRunAction(wanted);
      }
      case S3Push wanted ->
          S3Action.push(
              wanted,
              location(request, wanted.bucket(), wanted.access()),
              Initializer.helper(request.owner(), step),
              request.container(),
              runtime);
      case S3Pull wanted ->
          S3Action.pull(
              wanted,
              location(request, wanted.bucket(), wanted.access()),
              Initializer.helper(request.owner(), step),
              request.container(),
              runtime);
    };
  }

  private SiblingNames siblings(Initializer.Request request) {
    return name -> names.find(request.owner().deployment(), name);
  }

  private S3Location location(Initializer.Request request, String bucket, S3Access access) {
    String deployment = request.owner().deployment();
    return new S3Location(
        bucket,
        access.endpoint(),
        access.region(),
        access
            .credentials()
            .map(
                keys ->
                    new S3Location.Keys(
                        resolver.resolve(deployment, keys.accessKey()),
                        resolver.resolve(deployment, keys.secretKey()),
                        keys.sessionToken().map(token -> resolver.resolve(deployment, token)))));
  }
}
