package dev.zlayer.cli.doctor;

import dev.zlayer.host.linux.AppArmor;
import dev.zlayer.host.linux.UserManager;
import dev.zlayer.host.process.RootlessHost;
import dev.zlayer.json.Json;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What containers of an ordinary user need, and what they have to do without. */
final class RootlessChecks {
  private static final String USER = "user";
  private static final String LIMITS = "limits";

  private final Json config;
  private final Optional<String> path;
  private final String user;

  RootlessChecks(Json config, Optional<String> path, String user) {
    this.config = config;
    this.path = path;
    this.user = user;
  }

  /**
   * Checks.
   *
   * @param info what a daemon says about itself, if one answers
   */
  List<Finding> run(Optional<Json> info) {
    if (info.isPresent() && info.get().at("root").bool().orElse(false) && !rootless(info.get())) {
      return List.of(Finding.ok(USER, "not root; the daemon is"));
    }
    var findings = new ArrayList<Finding>();
    Path run = Path.of(config.at("data_dir").at("value").string().orElse("/nowhere"));
    List<String> missing = new RootlessHost(run, path.orElse(""), user).missing();
    findings.add(
        missing.isEmpty()
            ? Finding.ok(USER, "not root: containers run in namespaces of this user (rootless)")
            : Finding.warning(
                USER,
                "not root, and what rootless containers need is missing",
                String.join("; ", missing)));
    AppArmor.pastaObstacle()
        .ifPresent(
            remedy ->
                findings.add(
                    Finding.warning("pasta", "containers have no connection to the host", remedy)));
    UserManager manager = UserManager.read(user);
    findings.add(limits(manager, info.filter(RootlessChecks::rootless)));
    findings.add(
        manager
            .staying(user)
            .map(lack -> Finding.warning("linger", lack.what(), lack.remedy()))
            .orElseGet(() -> Finding.ok("linger", "containers stay when this user logs out")));
    return findings;
  }

  private static boolean rootless(Json info) {
    return info.at("rootless").bool().orElse(false);
  }

  /** An agent that runs knows; otherwise what one would be given. */
  private Finding limits(UserManager manager, Optional<Json> info) {
    List<String> present = info.map(facts -> facts.at(LIMITS).strings()).orElse(List.of());
    if (!present.isEmpty()) {
      return Finding.ok(LIMITS, "of " + String.join(", ", present));
    }
    return manager
        .limits(user)
        .map(lack -> Finding.warning(LIMITS, lack.what(), lack.remedy()))
        .orElseGet(
            () ->
                info.isPresent()
                    ? Finding.warning(
                        LIMITS,
                        "limits of containers are refused: this agent was given no control groups",
                        "restart the agent; its log has the reason if that does not help")
                    : Finding.ok(LIMITS, "control groups are given by systemd"));
  }
}
