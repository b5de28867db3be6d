package dev.zlayer.daemon.rest.cluster;

import dev.zlayer.cluster.deploy.ClusterExecution;
import dev.zlayer.cluster.deploy.ClusterExecution.Progress;
import dev.zlayer.cluster.deploy.ClusterState;
import dev.zlayer.cluster.member.NodeRecord;
import dev.zlayer.daemon.rest.ViewJson;
import dev.zlayer.daemon.rest.view.ExecutionView;
import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.json.Json;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** An execution as the cluster has it, for those who ask while its node does not answer. Pure. */
final class ExecutionRecordView {
  private ExecutionRecordView() {}

  /** As nodes show theirs. */
  static Json of(ClusterExecution one, ClusterState state) {
    Optional<Progress> progress = one.progress();
    Optional<Integer> code = progress.flatMap(Progress::code);
    Optional<String> unplaced =
        Optional.ofNullable(
            state
                .unplaced()
                .getOrDefault(one.deployment(), Map.of())
                .get(one.job() + "/" + one.number()));
    Optional<java.time.Instant> started = progress.flatMap(Progress::started);
    Optional<java.time.Instant> finished = progress.flatMap(Progress::finished);
    Json view =
        ViewJson.of(
            new ExecutionView(
                new ExecutionId(one.id()),
                one.name(),
                new JobKey(one.deployment(), one.job()),
                progress.map(Progress::status).orElse("pending"),
                code.isPresent() ? OptionalInt.of(code.get()) : OptionalInt.empty(),
                Optional.empty(),
                false,
                progress.flatMap(Progress::reason).or(() -> unplaced),
                one.request().trigger(),
                one.request().remote(),
                Optional.empty(),
                one.request().due(),
                one.request().priority(),
                one.created(),
                started,
                finished,
                started.flatMap(from -> finished.map(to -> Duration.between(from, to))),
                Optional.empty(),
                Optional.empty(),
                one.cancelled(),
                List.of(),
                List.of(),
                List.of()));
    return one.node().isPresent() ? ClusterStatus.on(node(state, one), view) : view;
  }

  static String node(ClusterState state, ClusterExecution one) {
    String id = one.node().orElse("-");
    return Optional.ofNullable(state.members().get(id)).map(NodeRecord::name).orElse(id);
  }
}
