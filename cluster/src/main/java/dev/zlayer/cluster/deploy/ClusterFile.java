package dev.zlayer.cluster.deploy;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.TlsSpec;
import dev.zlayer.spec.problem.Problem;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.read.SpecReader;
import dev.zlayer.spec.read.SpecResult;
import dev.zlayer.spec.read.UnsupportedKeys;
import dev.zlayer.spec.service.DependsSpec;
import dev.zlayer.spec.service.ScaleSpec;
import dev.zlayer.spec.storage.StorageSpec;
import dev.zlayer.spec.value.EnvValue;
import dev.zlayer.spec.value.NetworkMode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Reads deployment files for a cluster, which takes only what it can honour on all nodes. Pure. */
public final class ClusterFile {
  /** A file has to fit into one change of the store. */
  public static final int LARGEST = 900_000;

  private static final String LOCAL =
      "; 'zlayer up --local' runs the deployment on this node alone";
  private static final Duration USUAL_WAIT = Duration.ofMinutes(5);

  private ClusterFile() {}

  /**
   * Reads a file.
   *
   * @throws AgentException.InvalidSpec all problems, one per line
   * @throws AgentException.Unsupported what a cluster cannot honour, with paths and reasons
   */
  public static DeploymentSpec read(String name, byte[] file) {
    if (file.length > LARGEST) {
      throw new AgentException.InvalidSpec(
          "the file has %d bytes; a cluster stores at most %d".formatted(file.length, LARGEST));
    }
    return switch (SpecReader.read(name + ".zlayer.yml", file)) {
      case SpecResult.Invalid(var problems) ->
          throw new AgentException.InvalidSpec(
              problems.stream().map(Problem::toString).collect(Collectors.joining("\n")));
      case SpecResult.Valid(var spec, _, var notHonoured) -> {
        List<String> refused =
            Stream.concat(
                    notHonoured.stream()
                        .filter(one -> !UnsupportedKeys.needsCluster(one))
                        .map(Problem::toString),
                    refusals(spec).stream())
                .toList();
        if (!refused.isEmpty()) {
          throw new AgentException.Unsupported(String.join("\n", refused));
        }
        if (!spec.deployment().equals(name)) {
          throw new AgentException.InvalidSpec(
              "deployment: the file names '%s' and was sent for '%s', write the same name"
                  .formatted(spec.deployment(), name));
        }
        yield spec;
      }
    };
  }

  /** What nodes do together with nobody yet, one line each. */
  static List<String> refusals(DeploymentSpec spec) {
    var found = new ArrayList<String>();
    spec.services()
        .forEach(
            (name, service) -> {
              SpecPath path = SpecPath.ROOT.key("services").key(name);
              new Check(path, found).run(service, spec);
            });
    return found;
  }

  /** One service. */
  private record Check(SpecPath path, List<String> found) {
    void refuse(boolean wrong, SpecPath at, String reason) {
      if (wrong) {
        found.add(at + ": " + reason + LOCAL);
      }
    }

    void run(ServiceSpec service, DeploymentSpec all) {
      if (service.rtype() != RunType.SERVICE) {
        job(service);
      }
      refuse(
          !service.lifecycle().replicaGroups().isEmpty(),
          path.key("replica_groups"),
          "a cluster places replicas of one role only");
      refuse(
          service.resources().gpu().isPresent(),
          path.key("resources").key("gpu"),
          "a cluster does not place GPUs yet");
      scale(service);
      update(service);
      depends(service, all);
      secrets(service);
      endpoints(service.networking().endpoints());
      refuse(
          service.networking().effectiveMode() instanceof NetworkMode.OfContainer,
          path.key("network_mode"),
          "the other container may be on another node");
      refuse(
          service.security().pidMode().filter(mode -> mode.startsWith("container:")).isPresent(),
          path.key("pid_mode"),
          "the other container may be on another node");
      refuse(
          service.security().ipcMode().filter(mode -> mode.startsWith("container:")).isPresent(),
          path.key("ipc_mode"),
          "the other container may be on another node");
    }

    private void scale(ServiceSpec service) {
      if (service.lifecycle().scale() instanceof ScaleSpec.Adaptive adaptive) {
        var targets = adaptive.targets();
        refuse(
            targets.cpu().isPresent()
                || targets.memory().isPresent()
                || targets.rps().isPresent()
                || adaptive.toZero(),
            path.key("scale"),
            "a cluster does not measure load yet, write mode: manual or fixed");
      }
    }

    private void update(ServiceSpec service) {
      var update = service.lifecycle().update();
      refuse(
          update.strategy().staged(),
          path.key("update").key("strategy"),
          "the old and the new replicas would have to be on one node, write start_first or"
              + " stop_first");
      refuse(
          update.autoUpdate().isPresent(),
          path.key("update").key("auto_update"),
          "nodes do not agree on a newer image yet");
    }

    private void job(ServiceSpec service) {
      refuse(
          !service.job().needs().isEmpty(),
          path.key("job").key("needs"),
          "executions of a cluster do not wait for other jobs yet");
      refuse(
          service.job().ahead() > 0,
          path.key("job").key("warm"),
          "containers would be created ahead on every node");
    }

    private void depends(ServiceSpec service, DeploymentSpec all) {
      List<DependsSpec> depends = service.lifecycle().depends();
      refuse(
          service.rtype() != RunType.SERVICE && !depends.isEmpty(),
          path.key("depends"),
          "jobs of a cluster wait for nobody yet");
      for (int i = 0; i < depends.size(); i++) {
        DependsSpec one = depends.get(i);
        SpecPath at = path.key("depends").index(i);
        ServiceSpec other = all.services().get(one.service());
        refuse(
            other != null && other.rtype() != RunType.SERVICE,
            at.key("service"),
            "a service of a cluster does not wait for a job yet");
        refuse(
            one.onTimeout() != DependsSpec.OnTimeout.FAIL || !one.timeout().equals(USUAL_WAIT),
            at.key("timeout"),
            "a service of a cluster waits for others as long as it takes");
      }
    }

    private void secrets(ServiceSpec service) {
      String reason = "every node has secrets of its own, they are not passed on yet";
      for (Map.Entry<String, EnvValue> variable : service.env().entrySet()) {
        refuse(
            variable.getValue().parts().stream().anyMatch(EnvValue.Secret.class::isInstance),
            path.key("env").key(variable.getKey()),
            reason);
      }
      refuse(!service.secrets().isEmpty(), path.key("secrets"), reason);
      for (int i = 0; i < service.storage().size(); i++) {
        refuse(
            service.storage().get(i) instanceof StorageSpec.S3 bucket
                && bucket.credentials().isPresent(),
            path.key("storage").index(i).key("credentials"),
            reason);
      }
    }

    private void endpoints(List<EndpointSpec> endpoints) {
      for (int i = 0; i < endpoints.size(); i++) {
        refuse(
            endpoints.get(i).route().encryption().tls().filter(Check::own).isPresent(),
            path.key("endpoints").index(i).key("tls"),
            "nodes do not share certificates yet, write self_signed or passthrough");
      }
    }

    private static boolean own(TlsSpec tls) {
      return tls.fromAcme() || tls.secret().isPresent();
    }
  }
}
