package dev.zlayer.cli.doctor;

import dev.zlayer.cli.Locations;
import dev.zlayer.cli.client.ConnectionLost;
import dev.zlayer.cli.client.DaemonClient;
import dev.zlayer.cli.client.DaemonProblem;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.json.Json;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** Checks everything that a daemon depends on; with or without one, as root or not. */
public final class Doctor {
  private static final Path RESOLVER = Path.of("/etc/resolv.conf");

  private final DaemonClient client;
  private final String version;
  private final Optional<String> path;

  /**
   * For one daemon, running or not.
   *
   * @param version of this program
   * @param path the caller's search path for programs
   */
  public Doctor(DaemonClient client, String version, Optional<String> path) {
    this.client = client;
    this.version = version;
    this.path = path;
  }

  /**
   * Checks.
   *
   * @param local the configuration that a daemon would have; throws when it is wrong
   */
  public List<Finding> run(Supplier<Json> local, Instant now) throws InterruptedException {
    var findings = new ArrayList<Finding>();
    Optional<Json> info = daemon(findings);
    boolean running = info.isPresent();
    if (running) {
      findings.addAll(CertificateChecks.run(client.get("/ingress/certificates"), now));
      nodeCertificate(now).ifPresent(findings::add);
    }
    Optional<Json> config = config(running, local, findings);
    if (client.address().local()) {
      Json known = config.orElse(Json.Null.INSTANCE);
      if (Machine.root()) {
        findings.add(Finding.ok("user", "root"));
      } else {
        findings.addAll(new RootlessChecks(known, path, Locations.user()).run(info));
      }
      Optional<String> runtime =
          known.at("oci_runtime").at("value").string().filter(name -> !name.isEmpty());
      findings.addAll(new HostChecks(path, runtime).run());
      if (config.isPresent()) {
        findings.addAll(new SetupChecks(known, running, now).run());
      }
      findings.add(NameChecks.run(RESOLVER));
    }
    return findings;
  }

  private Optional<Json> daemon(List<Finding> findings) throws InterruptedException {
    Json info;
    try {
      Optional<Json> told = client.getIfRunning("/info");
      if (told.isEmpty()) {
        findings.add(
            Finding.warning(
                "daemon",
                "no daemon is running at " + client.address().http(),
                "start one with 'zlayer daemon start' or 'systemctl start zlayer'"));
        return Optional.empty();
      }
      info = told.get();
    } catch (AgentException.Timeout e) {
      findings.add(
          Finding.failed(
              "daemon",
              "one listens at %s and does not answer: %s"
                  .formatted(client.address().http(), e.getMessage()),
              "see its log; 'systemctl restart zlayer' leaves containers running"));
      return Optional.empty();
    } catch (ConnectionLost e) {
      findings.add(
          Finding.failed(
              "daemon",
              String.valueOf(e.getMessage()),
              "run with sudo, or 'usermod -aG zlayer USER' and log in again"));
      return Optional.empty();
    }
    String theirs = info.at("version").string().orElse("unknown");
    findings.add(
        theirs.equals(version)
            ? Finding.ok("daemon", "version " + theirs + " answers")
            : Finding.warning(
                "daemon",
                "its version is %s, that of this program %s".formatted(theirs, version),
                "restart the daemon; containers keep running"));
    for (String damage : info.at("damages").strings()) {
      findings.add(Finding.failed("state", damage, "see 'zlayer events' and docs/operations.md"));
    }
    if (!info.at("rootless").bool().orElse(false)) {
      for (String warning : info.at("warnings").strings()) {
        findings.add(Finding.warning("firewall", warning, "correct the rule that it names"));
      }
    }
    try {
      client.get("/health/ready");
      findings.add(Finding.ok("health", "every part of the daemon works"));
    } catch (DaemonProblem e) {
      findings.add(
          Finding.failed(
              "health", String.valueOf(e.getMessage()), "see the log of the daemon for the cause"));
    }
    return Optional.of(info);
  }

  /** That of a node in a cluster; others have none. */
  private Optional<Finding> nodeCertificate(Instant now) throws InterruptedException {
    try {
      return Optional.of(CertificateChecks.node(client.get("/cluster/certificate"), now));
    } catch (DaemonProblem e) {
      return e.notFound()
          ? Optional.empty()
          : Optional.of(
              Finding.failed(
                  "node-certificate", String.valueOf(e.getMessage()), "see docs/cluster.md"));
    }
  }

  private Optional<Json> config(boolean running, Supplier<Json> local, List<Finding> findings)
      throws InterruptedException {
    try {
      Json config = running ? client.get("/config") : local.get();
      findings.add(Finding.ok("configuration", "every value is valid"));
      return Optional.of(config);
    } catch (AgentException.Configuration e) {
      findings.add(
          Finding.failed(
              "configuration", String.valueOf(e.getMessage()), "correct the file or the variable"));
      return Optional.empty();
    }
  }
}
