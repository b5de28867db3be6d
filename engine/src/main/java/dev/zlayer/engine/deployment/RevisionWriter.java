package dev.zlayer.engine.deployment;

import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.Event;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** Makes revisions durable, together with the forgetting of those that are too old. */
final class RevisionWriter {
  private final StateStore store;
  private final DeploymentStore deployments;
  private final int kept;

  RevisionWriter(StateStore store, DeploymentStore deployments, int kept) {
    this.store = store;
    this.deployments = deployments;
    this.kept = kept;
  }

  /** Returns the number of the event that tells about it; {@code used} revisions stay. */
  long write(DeploymentRecord record, Revision revision, Collection<Long> used) {
    List<Change.Write> writes = new ArrayList<>();
    writes.add(new Change.Put(DeploymentRecord.KIND, record.name(), record.write()));
    writes.add(
        new Change.Put(
            DeploymentRecord.REVISIONS,
            DeploymentRecord.revisionKey(record.name(), revision.number()),
            DeploymentRecord.write(revision)));
    for (long old : deployments.revisionNumbers(record.name())) {
      if (old <= revision.number() - kept && !used.contains(old)) {
        writes.add(
            new Change.Delete(
                DeploymentRecord.REVISIONS, DeploymentRecord.revisionKey(record.name(), old)));
      }
    }
    var event =
        new Event(
            revision.at(),
            "deployment.revised",
            record.name(),
            Json.object()
                .put("revision", revision.number())
                .put("reason", revision.reason())
                .build());
    return store.commit(new Change(writes, List.of(event)));
  }
}
