package dev.zlayer.runtime.docker;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.Duplex;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.Upgraded;
import dev.zlayer.port.ExecSession;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/** The streams of a container's first process; closing leaves it running. */
final class DockerAttachment implements ExecSession {
  private final DockerApi api;
  private final DockerContainer container;
  private final OutputStream stdin;
  private final DemuxLoop streams;

  private DockerAttachment(DockerApi api, DockerContainer container, Duplex connection)
      throws IOException {
    this.api = api;
    this.container = container;
    this.stdin = DuplexInput.of(connection, container.spec().process().stdin());
    this.streams = DemuxLoop.start(connection, container.spec().process().terminal());
  }

  static DockerAttachment open(DockerApi api, DockerContainer container)
      throws InterruptedException {
    var request =
        HttpRequest.of(
            "POST",
            "/containers/%s/attach?stream=1&stdout=1&stderr=1&stdin=%s"
                .formatted(container.dockerId(), container.spec().process().stdin()));
    try {
      return switch (api.upgrade(request)) {
        case Upgraded.Accepted(_, Duplex connection) ->
            new DockerAttachment(api, container, connection);
        case Upgraded.Refused(var response) ->
            throw DockerApi.read(response).refusal("container '" + container.id() + "'");
      };
    } catch (IOException e) {
      throw new AgentException.Internal("cannot read the output of a container", e);
    }
  }

  @Override
  public OutputStream stdin() {
    return stdin;
  }

  @Override
  public InputStream stdout() {
    return streams.stdout();
  }

  @Override
  public InputStream stderr() {
    return streams.stderr();
  }

  @Override
  public void resize(int rows, int columns) {
    if (container.spec().process().terminal()) {
      DockerApi.calmly(
          () ->
              api.post(
                  "/containers/%s/resize?h=%d&w=%d"
                      .formatted(container.dockerId(), rows, columns)));
    }
  }

  @Override
  public ExitStatus await(Deadline deadline) throws InterruptedException {
    return container.await(WaitCondition.NOT_RUNNING, deadline).status();
  }

  @Override
  public void close() {
    streams.close();
  }
}
