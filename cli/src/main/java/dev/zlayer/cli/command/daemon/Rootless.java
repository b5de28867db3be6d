package dev.zlayer.cli.command.daemon;

import dev.zlayer.cli.Locations;
import dev.zlayer.cli.Session;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.linux.CgroupSupport;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.host.linux.UserNamespaces;
import dev.zlayer.host.net.OutsidePorts;
import dev.zlayer.host.process.RootlessHost;
import dev.zlayer.host.process.RootlessMonitor;
import java.util.LinkedHashMap;
import java.util.Optional;

/** Commands that an ordinary user runs as root of namespaces of their own. */
public final class Rootless {
  private Rootless() {}

  /** Whether this is an ordinary user, not yet inside. */
  public static boolean outside() {
    return !Machine.root() && !UserNamespaces.inside();
  }

  public static RootlessHost host(Session session, DataDir dirs) {
    return new RootlessHost(dirs.run(), session.variable("PATH").orElse(""), Locations.user());
  }

  /** Inside, keeps alive what this user's agent depends on; does nothing for another agent. */
  static RootlessMonitor supervise(Session session, DataDir dirs) {
    session.variable(RootlessHost.GROUP).ifPresent(CgroupSupport::within);
    Optional<String> process = session.variable(OutsidePorts.CONNECTED_BY);
    process.ifPresent(
        connected ->
            OutsidePorts.connect(connected, session.variable(OutsidePorts.FIRST_PORT), dirs.run()));
    return process.isPresent()
        ? RootlessMonitor.start(host(session, dirs))
        : RootlessMonitor.none();
  }

  /** Runs this command line again inside, in the same process; returns only by an exception. */
  public static void enter(Session session, DataDir dirs) throws InterruptedException {
    var environment = new LinkedHashMap<>(session.env());
    // inside, this user is root, for whom other places are usual
    environment.put(Locations.DATA_DIR, dirs.data().toString());
    environment.put(Locations.CONFIG_DIR, Locations.configDir(session).toString());
    host(session, dirs).enter(environment, warning -> session.err().println("zlayer: " + warning));
  }
}
