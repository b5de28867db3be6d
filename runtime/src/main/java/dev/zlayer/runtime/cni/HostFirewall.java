package dev.zlayer.runtime.cni;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The firewall of this host besides ours. The kernel asks every table, so what another one drops is
 * dropped whatever ours says. Docker and ufw drop by the policy of chains of iptables: there we
 * insert rules that accept our bridges, which our own table has filtered already. Other firewalls
 * own their rules and write them anew at every reload: for those we say what to do.
 */
public final class HostFirewall {
  private static final Set<String> FAMILIES = Set.of("ip", "inet");
  private static final Set<String> HOOKS = Set.of("forward", "input");
  private static final Set<String> CHAINS = Set.of("FORWARD", "INPUT");

  private final NetworkConfig config;

  public HostFirewall(NetworkConfig config) {
    this.config = config;
  }

  /** Accepts our bridges where iptables drops by policy; does nothing the second time. */
  void admit(boolean ipv6) throws InterruptedException {
    for (List<String> command : absent(ipv6)) {
      run(command);
    }
  }

  /** Writes the rules of our own table. */
  @FunctionalInterface
  interface Writing {
    void write() throws InterruptedException;
  }

  /**
   * The same when our own rules are written, which filter what is accepted; what is missing is
   * asked meanwhile.
   */
  void admitAfter(boolean ipv6, Writing own) throws InterruptedException {
    try (var scope = new TaskScope("firewall")) {
      TaskScope.Task<List<List<String>>> absent = scope.fork(() -> absent(ipv6));
      own.write();
      scope.join();
      for (List<String> command : absent.result()) {
        run(command);
      }
    }
  }

  /** The commands that insert the rules that are needed and not there. */
  private List<List<String>> absent(boolean ipv6) throws InterruptedException {
    var commands = new ArrayList<List<String>>();
    Optional<List<Json>> chains = chains();
    for (String program : programs(ipv6)) {
      for (List<String> rule : missing(program, chains)) {
        var command = new ArrayList<>(List.of(program, "-w", "5", "-I"));
        command.addAll(rule);
        commands.add(command);
      }
    }
    return commands;
  }

  /** IPv6 has rules of its own, which matter as soon as a network has such addresses. */
  private static List<String> programs(boolean ipv6) {
    return ipv6 ? List.of("iptables", "ip6tables") : List.of("iptables");
  }

  /** What still drops packets of containers, each with what to do about it. */
  public List<String> problems(boolean ipv6) throws InterruptedException {
    var problems = new ArrayList<String>();
    Optional<List<Json>> chains = chains();
    for (String program : programs(ipv6)) {
      for (List<String> rule : missing(program, chains)) {
        problems.add(
            "%1$s drops packets of containers: run '%1$s -I %2$s', or restart the daemon"
                .formatted(program, String.join(" ", rule)));
      }
    }
    for (Json chain : chains.orElse(List.of())) {
      String family = text(chain, "family");
      String table = text(chain, "table");
      String name = text(chain, "name");
      boolean iptables = family.startsWith("ip") && table.equals("filter");
      boolean drops =
          (FAMILIES.contains(family) || (ipv6 && family.equals("ip6")))
              && HOOKS.contains(text(chain, "hook"))
              && text(chain, "policy").equals("drop");
      if (drops && !iptables && !table.equals("firewalld") && !accepts(family, table, name)) {
        problems.add(
            "the nftables chain %1$s %2$s %3$s drops packets of containers: run 'nft insert rule %1$s %2$s %3$s iifname \"%4$s*\" accept'"
                    .formatted(family, table, name, config.prefix())
                + (text(chain, "hook").equals("forward") ? " and the same with oifname" : ""));
      }
    }
    if (firewalld() && !trusted()) {
      problems.add(
          "firewalld rejects packets of containers: run 'firewall-cmd --permanent --zone=trusted --add-source=%s' and 'firewall-cmd --reload'"
              .formatted(config.subnets()));
    }
    return List.copyOf(problems);
  }

  /** Rules that iptables needs and does not have. */
  private List<List<String>> missing(String program, Optional<List<Json>> chains)
      throws InterruptedException {
    String bridges = config.prefix() + "+";
    var missing = new ArrayList<List<String>>();
    Set<String> dropping = dropping(program, chains);
    if (dropping.contains("FORWARD")) {
      missing.add(List.of("FORWARD", "-i", bridges, "-j", "ACCEPT"));
      missing.add(List.of("FORWARD", "-o", bridges, "-j", "ACCEPT"));
    }
    if (program.equals("iptables") && dropping.contains("INPUT")) {
      // names, which are redirected to the name server on loopback; nothing else
      missing.add(
          List.of("INPUT", "-i", bridges, "-m", "conntrack", "--ctstate", "DNAT", "-j", "ACCEPT"));
    }
    var absent = new ArrayList<List<String>>();
    for (List<String> rule : missing) {
      var command = new ArrayList<>(List.of(program, "-w", "5", "-C"));
      command.addAll(rule);
      if (!run(command).success()) {
        absent.add(rule);
      }
    }
    return absent;
  }

  /**
   * The chains that drop by their policy. Asked of nft where it can say: the mere question makes
   * iptables write its tables.
   */
  private Set<String> dropping(String program, Optional<List<Json>> chains)
      throws InterruptedException {
    String family = program.equals("ip6tables") ? "ip6" : "ip";
    var dropping = new HashSet<String>();
    boolean found = false;
    for (Json chain : chains.orElse(List.of())) {
      String name = text(chain, "name");
      if (text(chain, "family").equals(family)
          && text(chain, "table").equals("filter")
          && CHAINS.contains(name)) {
        found = true;
        if (text(chain, "policy").equals("drop")) {
          dropping.add(name);
        }
      }
    }
    if (!found
        && (chains.isEmpty() || run(List.of(program, "--version")).stdout().contains("legacy"))) {
      CommandResult listed = run(List.of(program, "-w", "5", "-S"));
      CHAINS.stream()
          .filter(name -> listed.stdout().lines().anyMatch(("-P " + name + " DROP")::equals))
          .forEach(dropping::add);
    }
    return dropping;
  }

  /** Nothing when nft cannot list them. */
  private Optional<List<Json>> chains() throws InterruptedException {
    CommandResult listed = run(List.of(config.nft(), "-j", "list", "chains"));
    if (!listed.success()) {
      return Optional.empty();
    }
    return Optional.of(
        listed.stdout().isBlank()
            ? List.of()
            : JsonText.parse(listed.stdout()).at("nftables").items().stream()
                .map(item -> item.at("chain"))
                .toList());
  }

  private boolean accepts(String family, String table, String chain) throws InterruptedException {
    return run(List.of(config.nft(), "list", "chain", family, table, chain))
        .stdout()
        .contains("iifname \"" + config.prefix() + "*\" accept");
  }

  private boolean firewalld() throws InterruptedException {
    return run(List.of(config.nft(), "list", "chain", "inet", "firewalld", "filter_FORWARD"))
        .success();
  }

  private boolean trusted() throws InterruptedException {
    return run(List.of(config.nft(), "list", "table", "inet", "firewalld"))
        .stdout()
        .contains(config.subnets().toString());
  }

  private CommandResult run(List<String> command) throws InterruptedException {
    try {
      return Processes.run(Command.of(command), Deadline.after(Rules.NFT_LIMIT));
    } catch (AgentException.Configuration _) {
      // a host without iptables has no rules of iptables
      return new CommandResult(127, new byte[0], new byte[0]);
    }
  }

  private static String text(Json json, String member) {
    return json.at(member).string().orElse("");
  }
}
