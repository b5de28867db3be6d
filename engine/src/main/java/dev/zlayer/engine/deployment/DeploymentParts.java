package dev.zlayer.engine.deployment;

import dev.zlayer.engine.cron.CronScheduler;
import dev.zlayer.engine.init.Initializer;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.engine.service.ReplicaContainers;
import dev.zlayer.engine.service.ReplicaListener;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.port.DeploymentNetworks;
import dev.zlayer.port.Rotation;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.util.function.UnaryOperator;
import java.util.random.RandomGenerator;

/**
 * What deployments work with. The order in which a program makes these:
 *
 * <pre>{@code
 * var records = new DeploymentStore(store);
 * var containers = new NetworkedContainers(translator, networks, records);
 * var jobs = JobExecutor.open(jobParts(containers), jobConfig, records.jobs());
 * var cron = CronScheduler.open(store, jobs, clock, supervisor, records.schedules());
 * var deployments = Deployments.open(new DeploymentParts(...), config);
 * }</pre>
 *
 * and closes them in the reverse order.
 *
 * @param jobs opened with {@link DeploymentStore#jobs}; from then on only told by deployments
 * @param cron likewise
 * @param hiding takes secrets out of what containers print before it is shown or kept
 * @param replicas hears what happens to containers of services
 */
public record DeploymentParts(
    StateStore store,
    DeploymentStore records,
    ContainerRuntime runtime,
    ReplicaContainers containers,
    Initializer initializer,
    JobExecutor jobs,
    CronScheduler cron,
    Rotation rotation,
    DeploymentNetworks networks,
    DeploymentVolumes volumes,
    UnaryOperator<String> hiding,
    ReplicaListener replicas,
    TimeSource clock,
    RandomGenerator random,
    Supervisor supervisor) {}
