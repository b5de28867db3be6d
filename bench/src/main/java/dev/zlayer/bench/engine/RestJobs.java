package dev.zlayer.bench.engine;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.oci.ImageRef;
import java.io.IOException;
import java.util.List;

/** A job of a deployment, through the daemon's API: trigger, wait, read its output. */
public final class RestJobs {
  private static final String EXECUTIONS = "/jobs/bench/short/executions";

  /** How many results are kept where nobody says it. */
  private static final int KEPT = 1000;

  private final ZlayerDaemon daemon;

  /** Deploys the job. */
  public RestJobs(ZlayerDaemon daemon, ImageRef image, String controlGroup, int atATime)
      throws IOException, InterruptedException {
    this(daemon, image, controlGroup, atATime, KEPT);
  }

  /** The same with a limit to the results that are kept. */
  public RestJobs(ZlayerDaemon daemon, ImageRef image, String controlGroup, int atATime, int kept)
      throws IOException, InterruptedException {
    this.daemon = daemon;
    Json service =
        Json.object()
            .put("rtype", "job")
            .put("image", Json.object().put("name", image.canonical()).build())
            .put("command", Json.object().put("args", Engine.PRINT_AND_END).build())
            .put("network_mode", "none")
            .put("cgroup_parent", controlGroup + "/rest")
            .put(
                "job",
                Json.object()
                    .put("concurrency", atATime)
                    .put("retention", Json.object().put("count", kept).build())
                    .build())
            .build();
    daemon.ask(
        "PUT",
        "/deployments/bench",
        Json.object()
            .put("version", "v1")
            .put("deployment", "bench")
            .put("services", Json.object().put("short", service).build())
            .build());
  }

  public void run() throws IOException, InterruptedException {
    String id = ask("POST", EXECUTIONS, Json.object().build()).at("id").string().orElseThrow();
    Json end = ask("GET", "/executions/" + id + "/wait", Json.Null.INSTANCE);
    String log = daemon.ask("GET", "/executions/" + id + "/logs?format=raw", Json.Null.INSTANCE);
    if (!List.of("completed").equals(end.at("status").string().stream().toList())
        || !log.equals(Engine.PRINTED)) {
      throw new IOException("%s printed '%s'".formatted(end, log));
    }
  }

  /** The same by the command line, which follows the output to the end. */
  public void runByCommand() throws IOException, InterruptedException {
    String printed = daemon.run("job", "run", "--wait", "bench/short");
    if (!printed.endsWith(Engine.PRINTED)) {
      throw new IOException("zlayer job run --wait printed '%s'".formatted(printed));
    }
  }

  private Json ask(String method, String path, Json body) throws IOException, InterruptedException {
    return JsonText.parse(daemon.ask(method, path, body));
  }
}
