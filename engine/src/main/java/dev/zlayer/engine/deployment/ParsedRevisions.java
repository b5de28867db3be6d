package dev.zlayer.engine.deployment;

import dev.zlayer.spec.DeploymentSpec;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The files of a deployment's last revisions, parsed once: hundreds of services of one file ask for
 * theirs. Thread-safe.
 */
final class ParsedRevisions {
  /** The revision that is rolled out, the last good one, and one that is being replaced. */
  private static final int KEPT = 3;

  /** A parsed file and where its relative paths start. */
  record Parsed(DeploymentSpec spec, Path directory, Optional<Share> share) {}

  private final Map<Long, Parsed> byNumber = new LinkedHashMap<>(8, 0.75f, true);

  synchronized void add(Revision revision, DeploymentSpec spec) {
    byNumber.put(revision.number(), new Parsed(spec, revision.directory(), revision.share()));
    while (byNumber.size() > KEPT) {
      byNumber.remove(byNumber.keySet().iterator().next());
    }
  }

  /** Parses and keeps the file; throws what {@link DeploymentFile#read} throws. */
  synchronized DeploymentSpec read(Revision revision) {
    DeploymentSpec spec = DeploymentFile.read(revision);
    add(revision, spec);
    return spec;
  }

  /** Parses only a revision that is not kept; the lock makes concurrent askers share one parse. */
  synchronized Optional<Parsed> find(long number, Supplier<Optional<Revision>> stored) {
    Parsed known = byNumber.get(number);
    if (known == null) {
      stored.get().ifPresent(this::read);
      known = byNumber.get(number);
    }
    return Optional.ofNullable(known);
  }
}
