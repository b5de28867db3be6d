package dev.zlayer.runtime.docker;

import dev.zlayer.container.ExecSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.http.Duplex;
import dev.zlayer.host.http.HttpRequest;
import dev.zlayer.host.http.Upgraded;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.port.ExecSession;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/**
 * A further process in a container. The engine cannot end one, so each carries a mark in its
 * environment by which a helper inside finds it and its children; that needs a shell in the image.
 */
final class DockerExecSession implements ExecSession {
  private static final String MARK = "ZLAYER_EXEC=";
  private static final String END_MARKED =
      "for p in /proc/[0-9]*; do grep -q 'MARK' $p/environ 2>/dev/null && kill -9 ${p#/proc/};"
          + " done";
  private static final int CANNOT_RUN = 126;
  private static final int NOT_THERE = 127;
  private static final Duration LOOK_AGAIN = Duration.ofMillis(200);

  private final DockerApi api;
  private final String container;
  private final String exec;
  private final String mark;
  private final boolean terminal;
  private final OutputStream stdin;
  private final DemuxLoop streams;

  private DockerExecSession(
      DockerApi api, String container, String exec, String mark, ExecSpec spec, Duplex connection)
      throws IOException {
    this.api = api;
    this.container = container;
    this.exec = exec;
    this.mark = mark;
    this.terminal = spec.terminal();
    this.stdin = DuplexInput.of(connection, spec.stdin());
    this.streams = DemuxLoop.start(connection, spec.terminal());
  }

  static DockerExecSession start(DockerApi api, String container, String name, ExecSpec spec)
      throws InterruptedException {
    String mark = MARK + UUID.randomUUID();
    String exec =
        api.post("/containers/" + container + "/exec", body(spec, mark))
            .required("container '" + name + "'")
            .body()
            .at("Id")
            .string()
            .orElseThrow();
    var start =
        HttpRequest.of("POST", "/exec/" + exec + "/start")
            .withJson(
                JsonText.print(
                    Json.object()
                        .put("Detach", false)
                        .put("Tty", spec.terminal())
                        .putIf(
                            "ConsoleSize",
                            spec.size().map(size -> List.of(size.rows(), size.columns())))
                        .build()));
    try {
      return switch (api.upgrade(start)) {
        case Upgraded.Accepted(_, Duplex connection) ->
            new DockerExecSession(api, container, exec, mark, spec, connection);
        case Upgraded.Refused(var response) ->
            throw DockerApi.read(response).refusal("container '" + name + "'");
      };
    } catch (IOException e) {
      throw new AgentException.Internal("cannot read the output of an exec", e);
    }
  }

  private static Json body(ExecSpec spec, String mark) {
    List<String> env = new ArrayList<>();
    spec.env().forEach((name, value) -> env.add(name + "=" + value));
    env.add(mark);
    return Json.object()
        .put("AttachStdin", spec.stdin())
        .put("AttachStdout", true)
        .put("AttachStderr", true)
        .put("Tty", spec.terminal())
        .put("Env", env)
        .put("Cmd", spec.command())
        .put("Privileged", spec.privileged())
        .putIf("User", spec.user())
        .putIf("WorkingDir", spec.workdir())
        .putIf("ConsoleSize", spec.size().map(size -> List.of(size.rows(), size.columns())))
        .build();
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
    if (terminal) {
      DockerApi.calmly(() -> api.post("/exec/%s/resize?h=%d&w=%d".formatted(exec, rows, columns)));
    }
  }

  /** The engine has no call that waits for an exec; the end of its output is when to look. */
  @Override
  public ExitStatus await(Deadline deadline) throws InterruptedException {
    while (true) {
      long nanos = Math.min(LOOK_AGAIN.toNanos(), deadline.leftNanos());
      boolean silent = streams.ended().await(nanos, TimeUnit.NANOSECONDS);
      DockerApi.Answer answer = api.get("/exec/" + exec + "/json");
      if (answer.status() == 404) {
        return new ExitStatus.Unknown("its container has ended");
      }
      Json seen = answer.required("exec " + exec).body();
      if (!seen.at("Running").bool().orElse(false)) {
        return exit(seen.at("ExitCode").integer());
      }
      deadline.check("waiting for an exec");
      if (silent) {
        dev.zlayer.task.Pauses.REAL.pause(Duration.ofMillis(10));
      }
    }
  }

  private ExitStatus exit(Optional<Long> code) throws InterruptedException {
    if (code.isEmpty()) {
      return new ExitStatus.Unknown("the engine did not report it");
    }
    return Inspection.exit(
        code.get() == CANNOT_RUN && notThere() ? NOT_THERE : code.get().intValue());
  }

  /** The engine has one code for both, but says what was wrong in place of the output. */
  private boolean notThere() throws InterruptedException {
    boolean _ = streams.ended().await(1, TimeUnit.SECONDS);
    String said = streams.head();
    return said.contains("exec failed")
        && (said.contains("no such file or directory")
            || said.contains("executable file not found"));
  }

  @Override
  public void close() {
    try {
      if (streams.ended().getCount() > 0) {
        end();
      }
    } finally {
      streams.close();
    }
  }

  private void end() {
    List<String> helper = List.of("/bin/sh", "-c", END_MARKED.replace("MARK", mark));
    Json body = Json.object().put("Cmd", helper).put("User", "0:0").build();
    DockerApi.calmly(
        () -> {
          DockerApi.Answer made = api.post("/containers/" + container + "/exec", body);
          return made.success()
              ? api.post(
                  "/exec/" + made.body().at("Id").string().orElseThrow() + "/start",
                  Json.object().put("Detach", true).build())
              : made; // the container has ended, and the process with it
        });
  }
}
