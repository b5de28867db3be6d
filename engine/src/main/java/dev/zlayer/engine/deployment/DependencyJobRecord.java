package dev.zlayer.engine.deployment;

import dev.zlayer.engine.job.Execution;
import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.engine.job.Trigger;
import dev.zlayer.engine.service.Failure;
import dev.zlayer.engine.state.Change;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.json.StoredFormat;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What is remembered of a job that others wait for. Which execution was made for them is not: the
 * execution itself says so in its trigger, and became durable with it.
 *
 * @param completed what the job was, as hashes, when it completed; newest last
 * @param ignored executions up to this one do not count: somebody asked for another try
 * @param failed how the last run failed; kept here since retention drops the execution, and what
 *     failed is not run again before somebody asks for it
 */
record DependencyJobRecord(
    JobKey job, List<String> completed, Optional<ExecutionId> ignored, Optional<FailedRun> failed) {
  static final String KIND = "job.gate";
  static final StoredFormat FORMAT = StoredFormat.of("the job that others wait for");
  private static final int MOST = 20;

  /** A failed run of the job as it was then. */
  record FailedRun(String hash, Failure failure) {}

  DependencyJobRecord {
    completed = List.copyOf(completed);
  }

  static DependencyJobRecord fresh(JobKey job) {
    return new DependencyJobRecord(job, List.of(), Optional.empty(), Optional.empty());
  }

  /** Marks an execution as made for those who wait for the job as it is now. */
  static Trigger trigger(String hash) {
    return new Trigger.Internal("others wait for it (%s)".formatted(hash));
  }

  boolean counts(Execution execution, String hash) {
    return execution.trigger().equals(trigger(hash))
        && ignored.map(id -> execution.id().compareTo(id) > 0).orElse(true);
  }

  DependencyJobRecord completed(String hash) {
    var all = new ArrayList<>(completed);
    all.remove(hash);
    all.add(hash);
    return new DependencyJobRecord(
        job, all.subList(Math.max(0, all.size() - MOST), all.size()), ignored, Optional.empty());
  }

  DependencyJobRecord failed(String hash, Failure failure) {
    return new DependencyJobRecord(
        job, completed, ignored, Optional.of(new FailedRun(hash, failure)));
  }

  Optional<Failure> failure(String hash) {
    return failed.filter(run -> run.hash().equals(hash)).map(FailedRun::failure);
  }

  /** The next run may begin. */
  DependencyJobRecord tryingAgain() {
    return new DependencyJobRecord(job, completed, ignored, Optional.empty());
  }

  DependencyJobRecord ignoring(ExecutionId execution) {
    return new DependencyJobRecord(job, completed, Optional.of(execution), failed);
  }

  Change.Put put() {
    return new Change.Put(
        KIND,
        job.toString(),
        JsonText.bytes(
            FORMAT
                .begin()
                .put("completed", completed)
                .putIf("ignored", ignored.map(ExecutionId::text))
                .putIf("failed", failed.map(RecordJson::write))
                .build()));
  }

  static DependencyJobRecord read(JobKey job, byte[] bytes) {
    Json json = FORMAT.upgrade(JsonText.parse(bytes), "state.db");
    return new DependencyJobRecord(
        job,
        json.at("completed").strings(),
        json.at("ignored").string().map(ExecutionId::new),
        Optional.of(json.at("failed"))
            .filter(failed -> !failed.isNull())
            .map(failed -> RecordJson.read(failed, FailedRun.class)));
  }
}
