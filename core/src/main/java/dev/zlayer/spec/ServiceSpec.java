package dev.zlayer.spec;

import dev.zlayer.schedule.CronExpression;
import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Inline;
import dev.zlayer.spec.form.Keys;
import dev.zlayer.spec.form.Named;
import dev.zlayer.spec.job.CronSpec;
import dev.zlayer.spec.job.JobSpec;
import dev.zlayer.spec.network.NetworkingSpec;
import dev.zlayer.spec.placement.PlacementSpec;
import dev.zlayer.spec.resources.ResourcesSpec;
import dev.zlayer.spec.security.SecretFileSpec;
import dev.zlayer.spec.security.SecuritySettings;
import dev.zlayer.spec.service.LifecycleSpec;
import dev.zlayer.spec.service.ProcessSettings;
import dev.zlayer.spec.service.ReplicaGroup;
import dev.zlayer.spec.storage.StorageSpec;
import dev.zlayer.spec.value.EnvValue;
import dev.zlayer.spec.wasm.WasmSpec;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * One service, job or schedule. The file writes all keys side by side; here they are grouped by
 * topic.
 */
@Doc("A service, a job or a schedule.")
public record ServiceSpec(
    @Doc(
            "service runs until removed; job runs to completion when triggered; cron runs on a "
                + "schedule.")
        @Default("service")
        RunType rtype,
    @Doc(
            "When a cron job runs: five fields as in crontab (0 and 7 are Sunday), or six or seven"
                + " with seconds first and the year last (1 is Sunday), or @hourly, @daily,"
                + " @weekly, @monthly, @yearly, @every 10m.")
        Optional<CronExpression> schedule,
    @Doc("Image to run.") ImageSpec image,
    @Doc("Overrides the image's entrypoint and arguments.") @Default("{}") CommandSpec command,
    @Doc(
            "Environment variables. $E:NAME takes a variable of the agent, $S:name a secret; inside"
                + " a longer text write ${E:NAME} and ${S:name}; $$E: and $${E: are taken"
                + " literally.")
        @Keys(
            pattern = "[A-Za-z_][A-Za-z0-9_.-]*",
            write = "a name of letters, digits and underscores")
        Map<String, EnvValue> env,
    @Doc("Labels of the containers; the agent's own begin with com.zlayer.")
        @Keys(pattern = "[A-Za-z0-9]([A-Za-z0-9_./-]*[A-Za-z0-9])?", write = "a name such as tier")
        Map<String, String> labels,
    @Doc("Limits and reservations.") @Default("{}") ResourcesSpec resources,
    @Doc("Mounts.") List<StorageSpec> storage,
    @Doc("Secrets mounted as files; use env for secrets in variables.")
        List<SecretFileSpec> secrets,
    @Inline NetworkingSpec networking,
    @Inline SecuritySettings security,
    @Inline ProcessSettings process,
    @Inline LifecycleSpec lifecycle,
    @Inline PlacementSpec placement,
    @Doc("Settings of a job; for rtype job and cron.") @Default("{}") JobSpec job,
    @Doc("Settings of a schedule; for rtype cron.") @Default("{}") CronSpec cron,
    @Doc("Kind of program.") @Default("standard") ServiceType serviceType,
    @Doc("Settings of a WebAssembly program.") @Named(alias = "wasm_http") Optional<WasmSpec> wasm,
    @Doc("Log settings.") @Default("{}") LogsSpec logs) {
  /** The same with another life of its containers. */
  public ServiceSpec with(LifecycleSpec other) {
    return with(other, placement, resources);
  }

  /** On the node that a cluster has chosen by it, nothing is left to be chosen. */
  public ServiceSpec placed() {
    return with(lifecycle.placed(), placement.placed(), resources.placed());
  }

  private ServiceSpec with(LifecycleSpec other, PlacementSpec placement, ResourcesSpec resources) {
    return new ServiceSpec(
        rtype,
        schedule,
        image,
        command,
        env,
        labels,
        resources,
        storage,
        secrets,
        networking,
        security,
        process,
        other,
        placement,
        job,
        cron,
        serviceType,
        wasm,
        logs);
  }

  /** The same, which waits for no other job. */
  public ServiceSpec withoutNeeds() {
    return new ServiceSpec(
        rtype,
        schedule,
        image,
        command,
        env,
        labels,
        resources,
        storage,
        secrets,
        networking,
        security,
        process,
        lifecycle,
        placement,
        job.withoutNeeds(),
        cron,
        serviceType,
        wasm,
        logs);
  }

  /** The service as replicas of a group see it: what the group has of its own wins. */
  public ServiceSpec of(ReplicaGroup group) {
    var merged = new LinkedHashMap<>(env);
    merged.putAll(group.env());
    return new ServiceSpec(
        rtype,
        schedule,
        group.image().orElse(image),
        group.command().orElse(command),
        merged,
        labels,
        group.resources().orElse(resources),
        storage,
        secrets,
        networking,
        security,
        process,
        lifecycle,
        placement,
        job,
        cron,
        serviceType,
        wasm,
        logs);
  }
}
