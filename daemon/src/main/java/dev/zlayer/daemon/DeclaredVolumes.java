package dev.zlayer.daemon;

import dev.zlayer.engine.deployment.DeploymentStore;
import dev.zlayer.engine.deployment.Revision;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.read.SpecReader;
import dev.zlayer.spec.read.SpecResult;
import dev.zlayer.spec.storage.StorageSpec;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Which volumes the files of deployments name; these are not pruned. */
final class DeclaredVolumes {
  private DeclaredVolumes() {}

  static Map<String, Set<String>> of(DeploymentStore records) {
    var declared = new TreeMap<String, Set<String>>();
    for (String deployment : records.names()) {
      List<Revision> revisions = records.revisions(deployment);
      if (!revisions.isEmpty()) {
        declared.put(deployment, volumes(revisions.getLast()));
      }
    }
    return declared;
  }

  /** A file that this build cannot read any more names none. */
  private static Set<String> volumes(Revision revision) {
    var names = new HashSet<String>();
    if (SpecReader.read(revision.deployment(), revision.bytes())
        instanceof SpecResult.Valid(DeploymentSpec spec, _, _)) {
      spec.services().values().stream()
          .flatMap(service -> service.storage().stream())
          .forEach(
              storage -> {
                if (storage instanceof StorageSpec.Named named) {
                  names.add(named.name());
                }
              });
    }
    return names;
  }
}
