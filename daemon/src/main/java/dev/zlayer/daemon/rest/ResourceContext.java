package dev.zlayer.daemon.rest;

import dev.zlayer.container.ContainerId;
import dev.zlayer.daemon.ResourceEvents;
import dev.zlayer.daemon.access.AuditLog;
import dev.zlayer.daemon.access.TokenStore;
import dev.zlayer.daemon.backup.StateBackup;
import dev.zlayer.daemon.build.ImageBuilder;
import dev.zlayer.daemon.cluster.ClusterNode;
import dev.zlayer.daemon.metrics.MetricHistory;
import dev.zlayer.daemon.rest.view.ContainerView;
import dev.zlayer.daemon.standalone.StandaloneContainers;
import dev.zlayer.daemon.volume.VolumeArchives;
import dev.zlayer.daemon.volume.VolumeUsers;
import dev.zlayer.daemon.web.Dashboard;
import dev.zlayer.engine.cron.CronScheduler;
import dev.zlayer.engine.deployment.DeploymentStatus;
import dev.zlayer.engine.deployment.Deployments;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.engine.secret.SecretStore;
import dev.zlayer.engine.service.ReplicaStatus;
import dev.zlayer.engine.service.ServiceStatus;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.engine.translate.ServiceTranslator;
import dev.zlayer.engine.volume.VolumeStore;
import dev.zlayer.image.ImageStore;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.proxy.ingress.Ingress;
import dev.zlayer.proxy.tls.Certificates;
import dev.zlayer.runtime.cni.Networks;
import dev.zlayer.runtime.oci.gpu.Gpus;
import dev.zlayer.task.Pauses;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What the resources work on.
 *
 * @param system the resource about the agent itself, which the daemon makes
 */
public record ResourceContext(
    SystemResource system,
    Deployments deployments,
    ContainerRuntime runtime,
    StandaloneContainers standalone,
    ServiceTranslator translator,
    JobExecutor jobs,
    CronScheduler cron,
    ImageStore images,
    ImageBuilder builder,
    SecretStore secrets,
    VolumeStore volumes,
    VolumeUsers volumeUsers,
    Optional<Networks> networks,
    Optional<Gpus> gpus,
    Certificates certificates,
    Optional<Ingress> ingress,
    StateBackup backup,
    StateStore store,
    Optional<MetricHistory> history,
    TokenStore tokens,
    AuditLog audit,
    Dashboard dashboard,
    ClusterNode cluster,
    InstantSource clock) {
  /** All of them, in the order of the reference. */
  public List<Resource> all() {
    var happened = new ResourceEvents(store, clock);
    var all = new ArrayList<Resource>();
    all.add(system);
    all.add(new DeploymentsResource(deployments, ingress, clock));
    all.add(
        new ContainersResource(
            runtime,
            standalone,
            translator,
            this::replicas,
            () -> secrets.redaction(),
            name -> deployments.find(name).isPresent()));
    all.add(new ContainerInsideResource(runtime, standalone, () -> secrets.redaction(), clock));
    all.add(new StatsResource(runtime, Pauses.REAL));
    all.add(new HistoryResource(runtime, history, clock, Pauses.REAL));
    all.add(new JobsResource(jobs, cron, () -> jobs.definitions(), clock));
    all.add(new ExecutionsResource(jobs, () -> secrets.redaction(), clock));
    all.add(new ImagesResource(runtime, images, happened));
    all.add(new BuildResource(builder));
    all.add(new SecretsResource(secrets, this::secretsChanged));
    all.add(new StorageResource(volumes, networks, runtime, happened, clock));
    all.add(new GpusResource(gpus));
    all.add(new IngressResource(ingress, certificates, clock));
    all.add(new CertificatesResource(certificates));
    all.add(new VolumeArchivesResource(new VolumeArchives(volumes, volumeUsers)));
    all.add(new BackupResource(backup));
    all.add(new EventsResource(store));
    all.add(new TokensResource(tokens, clock));
    all.add(new AuditResource(audit, clock));
    all.add(new DashboardResource(dashboard));
    all.add(new ClusterResource(cluster));
    return all;
  }

  private void secretsChanged() {
    deployments.secretsChanged();
    certificates.refresh();
    ingress.ifPresent(Ingress::secretsChanged);
  }

  private Map<ContainerId, ContainerView.Replica> replicas() {
    var replicas = new HashMap<ContainerId, ContainerView.Replica>();
    for (DeploymentStatus deployment : deployments.list()) {
      for (ServiceStatus service : deployment.services()) {
        for (ReplicaStatus replica : service.replicas()) {
          replicas.put(replica.id(), ContainerView.Replica.of(service, replica));
        }
      }
    }
    return replicas;
  }
}
