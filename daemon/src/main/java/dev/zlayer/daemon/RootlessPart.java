package dev.zlayer.daemon;

import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.host.linux.CgroupSupport;
import dev.zlayer.host.linux.UserManager;
import dev.zlayer.host.linux.UserNamespaces;
import dev.zlayer.host.process.RootlessHost;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What the agent of an ordinary user has to do without. */
final class RootlessPart {
  private RootlessPart() {}

  /** What keeps an agent that is neither root nor in namespaces of its own from containers. */
  static List<String> missing(AgentConfig config, Map<String, String> env) {
    List<String> missing =
        new RootlessHost(
                config.directories().run(),
                env.getOrDefault("PATH", ""),
                System.getProperty("user.name", ""))
            .missing();
    return missing.isEmpty()
        ? List.of(
            "this agent began before everything for rootless containers was there: restart it")
        : missing;
  }

  /** Controllers of the control groups that it was given; nothing for an agent of root. */
  static Optional<List<String>> limits() {
    if (!UserNamespaces.inside()) {
      return Optional.empty();
    }
    try {
      return Optional.of(CgroupSupport.read().controllers().stream().sorted().toList());
    } catch (IOException _) {
      return Optional.of(List.of());
    }
  }

  static List<String> warnings(Map<String, String> env) {
    String user = env.get(RootlessHost.USER);
    if (user == null) {
      return List.of();
    }
    var lacks = new ArrayList<UserManager.Lack>();
    UserManager manager = UserManager.read(user);
    if (limits().filter(List::isEmpty).isPresent()) {
      manager.limits(user).ifPresent(lacks::add);
    }
    manager.staying(user).ifPresent(lacks::add);
    return lacks.stream().map(lack -> lack.what() + ": " + lack.remedy()).toList();
  }
}
