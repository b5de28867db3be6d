package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;

/** A daemon in this process that has an image and the jobs of one deployment, asked over REST. */
final class JobNode implements AutoCloseable {
  private static final String DEPLOYMENT = "work";

  final Node node;
  private Daemon daemon;
  private Rest rest;

  private JobNode(Node node) throws InterruptedException {
    this.node = node;
    this.daemon = node.daemon();
    this.rest = node.rest();
  }

  /**
   * The jobs are written without the head of the file, and {@code IMAGE} in place of what every job
   * says about its image and network.
   */
  static JobNode open(Node node, String jobs) throws Exception {
    JobNode made;
    try {
      made = new JobNode(node);
    } catch (InterruptedException | RuntimeException e) {
      node.close();
      throw e;
    }
    try {
      Node.loadImage(made.rest);
      made.deploy(jobs);
      return made;
    } catch (InterruptedException | RuntimeException | AssertionError e) {
      made.close();
      throw e;
    }
  }

  private void deploy(String jobs) throws InterruptedException {
    String image =
        "image: {name: \"%s\", pull_policy: never}, network_mode: none".formatted(Node.IMAGE);
    String file =
        "version: v1\ndeployment: %s\nservices:\n%s"
            .formatted(DEPLOYMENT, jobs.replace("IMAGE", "rtype: job, " + image).indent(2));
    Rest.Reply reply =
        rest.put("/deployments/" + DEPLOYMENT, file.getBytes(StandardCharsets.UTF_8));
    assertThat(reply.status()).as(reply.text()).isIn(200, 202);
  }

  Rest rest() {
    return rest;
  }

  /** Ends the daemon as a person would and starts the next one on the same place. */
  void restart() throws InterruptedException {
    restart(() -> {});
  }

  /** The same, with something done while no daemon is there. */
  void restart(Runnable between) throws InterruptedException {
    rest.close();
    daemon.close();
    between.run();
    daemon = node.daemon();
    rest = node.rest();
  }

  /** As the first thing that an agent does when it ends. */
  void closeExecutor() {
    daemon.agent().jobs().close();
  }

  static ConditionFactory soon() {
    return Awaitility.await().atMost(Duration.ofSeconds(40)).pollInterval(Duration.ofMillis(20));
  }

  Rest.Reply trigger(String job, String body) throws InterruptedException {
    return rest.post("/jobs/%s/%s/executions".formatted(DEPLOYMENT, job), body);
  }

  /** Returns its id. */
  String begin(String job, String body) throws InterruptedException {
    return trigger(job, body).expect(201).json().at("id").string().orElseThrow();
  }

  String begin(String job) throws InterruptedException {
    return begin(job, "{}");
  }

  Json show(String id) throws InterruptedException {
    return rest.get("/executions/" + id).expect(200).json();
  }

  String status(String id) throws InterruptedException {
    return show(id).at("status").string().orElse("");
  }

  Json end(String id) throws InterruptedException {
    return rest.get("/executions/" + id + "/wait?timeout=50s").expect(200).json();
  }

  /** Runs a job to its end, which has to be so; returns its id. */
  String run(String job, String status) throws InterruptedException {
    String id = begin(job);
    assertThat(end(id).at("status").string()).as(job).contains(status);
    return id;
  }

  /** What is there of a job, the newest first. */
  List<String> executions(String job) throws InterruptedException {
    return rest
        .get("/executions?job=%s/%s".formatted(DEPLOYMENT, job))
        .expect(200)
        .json()
        .items()
        .stream()
        .map(one -> one.at("id").string().orElseThrow())
        .toList();
  }

  static Instant time(Json execution, String field) {
    return Instant.parse(execution.at(field).string().orElseThrow());
  }

  @Override
  public void close() throws Exception {
    rest.close();
    daemon.close();
    node.close();
  }
}
