package dev.zlayer.engine.deployment;

import dev.zlayer.engine.job.Execution;
import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.engine.job.Trigger;
import dev.zlayer.engine.state.Change;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What is remembered of a job that others wait for. Which execution was made for them is not: the
 * execution itself says so in its trigger, and became durable with it.
 *
 * @param completed what the job was, as hashes, when it completed; newest last
 * @param ignored executions up to this one do not count: somebody asked for another try
 */
record GateRecord(JobKey job, List<String> completed, Optional<ExecutionId> ignored) {
  static final String KIND = "job.gate";
  private static final int MOST = 20;

  GateRecord {
    completed = List.copyOf(completed);
  }

  static GateRecord fresh(JobKey job) {
    return new GateRecord(job, List.of(), Optional.empty());
  }

  /** Marks an execution as made for those who wait for the job as it is now. */
  static Trigger trigger(String hash) {
    return new Trigger.Internal("others wait for it (%s)".formatted(hash));
  }

  boolean counts(Execution execution, String hash) {
    return execution.trigger().equals(trigger(hash))
        && ignored.map(id -> execution.id().compareTo(id) > 0).orElse(true);
  }

  GateRecord completed(String hash) {
    var all = new ArrayList<>(completed);
    all.remove(hash);
    all.add(hash);
    return new GateRecord(job, all.subList(Math.max(0, all.size() - MOST), all.size()), ignored);
  }

  GateRecord ignoring(ExecutionId execution) {
    return new GateRecord(job, completed, Optional.of(execution));
  }

  Change.Put put() {
    return new Change.Put(
        KIND,
        job.toString(),
        JsonText.bytes(
            Json.object()
                .put("version", 1)
                .put("completed", completed)
                .putIf("ignored", ignored.map(ExecutionId::text))
                .build()));
  }

  static GateRecord read(JobKey job, byte[] bytes) {
    Json json = JsonText.parse(bytes);
    return new GateRecord(
        job, json.at("completed").strings(), json.at("ignored").string().map(ExecutionId::new));
  }
}
