package dev.zlayer.daemon.cluster;

import dev.zlayer.cluster.deploy.NodeSecrets;
import dev.zlayer.cluster.secret.SecretId;
import dev.zlayer.cluster.secret.StoredSecrets;
import dev.zlayer.daemon.Agent;
import dev.zlayer.engine.deployment.DeploymentStatus;
import dev.zlayer.engine.deployment.Deployments;
import dev.zlayer.engine.secret.DeliveredSecrets;
import dev.zlayer.engine.secret.DeliveredSecrets.Delivered;
import dev.zlayer.engine.secret.SecretName;
import dev.zlayer.proxy.ingress.Ingress;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The engine of this node, which uses the secrets that the cluster gives it. */
final class EngineSecrets implements NodeSecrets.Holder {
  private final DeliveredSecrets secrets;
  private final Deployments deployments;
  private final Optional<Ingress> ingress;

  EngineSecrets(Agent agent) {
    this.secrets = agent.secrets().delivered();
    this.deployments = agent.deployments();
    this.ingress = agent.ingress();
  }

  @Override
  public Set<String> deployments() {
    return secrets.deployments();
  }

  @Override
  public Map<SecretId, StoredSecrets.Value> held(String deployment) {
    var held = new HashMap<SecretId, StoredSecrets.Value>();
    for (Delivered one : secrets.held(deployment)) {
      SecretName name = one.name();
      var id = new SecretId(name.deployment(), name.service(), name.name());
      held.put(id, new StoredSecrets.Value(id, one.version(), one.value()));
    }
    return held;
  }

  @Override
  public void hold(String deployment, Map<SecretId, StoredSecrets.Value> values) {
    secrets.hold(
        deployment,
        values.values().stream()
            .map(
                one ->
                    new Delivered(
                        new SecretName(one.id().deployment(), one.id().service(), one.id().name()),
                        one.version(),
                        one.text()))
            .toList());
    deployments.secretsChanged();
    ingress.ifPresent(Ingress::secretsChanged);
  }

  @Override
  public void drop(String deployment) {
    secrets.drop(deployment);
  }

  /** Forgets all of them, for a node that is in the cluster no longer. */
  void dropAll() {
    secrets.deployments().forEach(secrets::drop);
  }

  @Override
  public boolean own(String deployment) {
    return deployments.find(deployment).filter(one -> one.share().isEmpty()).isPresent();
  }

  @Override
  public boolean present(String deployment) {
    return deployments.find(deployment).flatMap(DeploymentStatus::share).isPresent();
  }
}
