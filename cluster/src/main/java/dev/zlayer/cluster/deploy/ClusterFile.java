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
import dev.zlayer.spec.resources.GpuSpec;
import dev.zlayer.spec.service.ScaleSpec;
import dev.zlayer.spec.value.NetworkMode;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Reads deployment files for a cluster, which takes only what it can honour on all nodes. Pure. */
public final class ClusterFile {
  /** A file has to fit into one change of the store. */
  public static final int LARGEST = 900_000;

  private static final String LOCAL =
      "; 'zlayer up --local' runs the deployment on this node alone";

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
              var check = new Check(path, found);
              check.run(service);
              check.refuse(
                  ClusterJobs.needs(spec, name).size() > ClusterJobs.MOST_TOGETHER,
                  path.key("job").key("needs"),
                  "a cluster makes at most %d executions at once, this one needs more"
                      .formatted(ClusterJobs.MOST_TOGETHER));
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

    void run(ServiceSpec service) {
      if (service.rtype() != RunType.SERVICE) {
        job(service);
      }
      boolean exclusive = ClusterClaim.exclusive(service);
      refuse(
          ClusterClaim.needed(service) && service.wasm().isPresent(),
          path.key(exclusive ? "cron" : "single_instance"),
          "a module cannot be ended when its agent hangs, "
              + (exclusive ? "write overlap: allow" : "remove it"));
      refuse(
          exclusive && service.security().pidMode().filter("host"::equals).isPresent(),
          path.key("pid_mode"),
          "runs that must not overlap end with their own pid namespace, remove it or write"
              + " cron.overlap: allow");
      scale(service);
      update(service);
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
            targets.rps().isPresent(),
            path.key("scale").key("targets").key("rps"),
            "requests are not counted over nodes yet, write cpu or memory");
        refuse(
            adaptive.toZero(),
            path.key("scale").key("min"),
            "nobody would start the first replica for a request on another node yet, write 1");
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
          service.resources().gpu().flatMap(GpuSpec::distributed).isPresent(),
          path.key("resources").key("gpu").key("distributed"),
          "an execution is one container, which has nobody to compute with");
      refuse(
          service.job().ahead() > 0,
          path.key("job").key("warm"),
          "containers would be created ahead on every node");
    }

    private void endpoints(List<EndpointSpec> endpoints) {
      for (int i = 0; i < endpoints.size(); i++) {
        refuse(
            endpoints.get(i).route().encryption().tls().filter(Check::own).isPresent(),
            path.key("endpoints").index(i).key("tls"),
            "every node serves the endpoint and would need its key, which nodes do not share yet;"
                + " write self_signed or passthrough");
      }
    }

    private static boolean own(TlsSpec tls) {
      return tls.fromAcme() || tls.secret().isPresent();
    }
  }
}
