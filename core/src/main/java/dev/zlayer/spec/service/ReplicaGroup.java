package dev.zlayer.spec.service;

import dev.zlayer.spec.CommandSpec;
import dev.zlayer.spec.ImageSpec;
import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Keys;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Text;
import dev.zlayer.spec.placement.Affinity;
import dev.zlayer.spec.resources.ResourcesSpec;
import dev.zlayer.spec.value.EnvValue;
import java.util.Map;
import java.util.Optional;

/** Replicas that differ from the rest of their service. */
@Doc("Replicas of one role; absent settings are those of the service.")
public record ReplicaGroup(
    @Doc("Name of the role.")
        @Text(
            pattern = "[a-z]([a-z0-9-]{0,28}[a-z0-9])?",
            write = "at most 30 lower case letters, digits and hyphens, beginning with a letter")
        String role,
    @Doc("Number of replicas.") @Range(min = 1, max = 1000) int count,
    @Doc("Another image.") Optional<ImageSpec> image,
    @Doc("Environment variables added to, and overriding, those of the service.")
        @Keys(
            pattern = "[A-Za-z_][A-Za-z0-9_.-]*",
            write = "a name of letters, digits and underscores")
        Map<String, EnvValue> env,
    @Doc("Another command.") Optional<CommandSpec> command,
    @Doc("Other limits.") Optional<ResourcesSpec> resources,
    @Doc("How the group spreads over nodes.") @Default("spread") Affinity affinity) {
  /** The same with another number of replicas. */
  public ReplicaGroup with(int replicas) {
    return new ReplicaGroup(role, replicas, image, env, command, resources, affinity);
  }

  /** Without what chooses a node. */
  ReplicaGroup placed() {
    return new ReplicaGroup(
        role, count, image, env, command, resources.map(ResourcesSpec::placed), affinity);
  }
}
