package dev.zlayer.cluster.network;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The overlay of this host: reads what the kernel has and changes what is not as it should be. */
public final class Overlay {
  private static final Duration LIMIT = Duration.ofSeconds(20);

  private final List<String> before;

  /** For the network namespace of this process. */
  public Overlay() {
    this(List.of());
  }

  /**
   * @param before the words before every program, such as those that enter a network namespace
   */
  public Overlay(List<String> before) {
    this.before = List.copyOf(before);
  }

  /**
   * Gives the kernel what the spec says; what is right already is not touched.
   *
   * @return what had to be done
   */
  public List<OverlayPlanner.Step> apply(DesiredOverlay spec) throws InterruptedException {
    List<OverlayPlanner.Step> steps =
        OverlayPlanner.plan(spec, observe(spec.device(), spec.table()));
    run(steps, Optional.of(spec));
    return steps;
  }

  /** Removes interface and rules; with the interface go its routes, neighbours and entries. */
  public List<OverlayPlanner.Step> remove(DesiredOverlay spec) throws InterruptedException {
    return remove(spec.device(), spec.table());
  }

  /** The same for whatever overlay there is beside a table of the agent. */
  public List<OverlayPlanner.Step> remove(String table) throws InterruptedException {
    return remove(DesiredOverlay.device(table), DesiredOverlay.rules(table));
  }

  private List<OverlayPlanner.Step> remove(String device, String rules)
      throws InterruptedException {
    List<OverlayPlanner.Step> steps = OverlayPlanner.removal(device, rules, observe(device, rules));
    run(steps, Optional.empty());
    return steps;
  }

  private void run(List<OverlayPlanner.Step> steps, Optional<DesiredOverlay> spec)
      throws InterruptedException {
    if (!steps.isEmpty() && spec.isPresent() && spec.get().encryption().isPresent()) {
      keep(spec.get());
    }
    for (OverlayPlanner.Step step : steps) {
      CommandResult result = call(step.command(), step.input());
      if (!result.success()
          && spec.isPresent()
          && WireGuardPlanner.creates(step)
          && WireGuard.absent(result)) {
        program(spec.get());
      } else if (!result.success()) {
        throw new AgentException.Network(
            "cannot set up the network between nodes: '%s' failed: %s"
                .formatted(String.join(" ", step.command()), result.stderr().strip()),
            null);
      }
    }
  }

  /** The kernel cannot; what the program makes has the largest MTU there is. */
  private void program(DesiredOverlay spec) throws InterruptedException {
    new WireGuard(before).start(spec.device(), setup(spec));
    run(
        List.of(
            OverlayPlanner.Step.of(
                "ip", "link", "set", "dev", spec.device(), "mtu", Integer.toString(spec.mtu()))),
        Optional.empty());
  }

  /** For a program that is started again while no agent runs. */
  private static void keep(DesiredOverlay spec) {
    var made = new ObservedOverlay.Link("tun", "", 0, false, 0, 0, "", false);
    String commands =
        OverlayPlanner.setup(spec, made).stream()
                .map(step -> "'" + String.join("' '", step.command()) + "'\n")
                .collect(Collectors.joining())
            // as the agent does for endpoints on 127.0.0.1
            + "echo 1 >/proc/sys/net/ipv4/conf/%s/route_localnet\n".formatted(spec.device());
    Path file = setup(spec);
    try {
      AtomicFile.write(file, commands.getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new AgentException.Configuration(
          "cannot write %s: %s".formatted(file, e.getMessage()), e);
    }
  }

  private static Path setup(DesiredOverlay spec) {
    return Path.of(spec.encryption().orElseThrow().keyFile()).resolveSibling("wireguard.sh");
  }

  private ObservedOverlay observe(String device, String table) throws InterruptedException {
    String rules = rules(table);
    CommandResult shown = call(List.of("ip", "-j", "-d", "addr", "show", "dev", device), "");
    if (!shown.success()) {
      if (!shown.stderr().contains("does not exist")) {
        throw new AgentException.Network(
            "cannot read interface %s: %s".formatted(device, shown.stderr().strip()), null);
      }
      return new ObservedOverlay(
          Optional.empty(), java.util.Set.of(), Map.of(), Map.of(), Map.of(), rules);
    }
    Json link = JsonText.parse(shown.stdout()).items().getFirst();
    var addresses = new HashSet<String>();
    for (Json address : link.at("addr_info").items()) {
      if (text(address, "family").equals("inet")) {
        addresses.add(text(address, "local") + "/" + number(address, "prefixlen"));
      }
    }
    ObservedOverlay.Link read = link(link);
    if (WireGuardPlanner.right(read)) {
      return new ObservedOverlay(
          Optional.of(read), addresses, routes(device), Map.of(), Map.of(), rules, tunnels(device));
    }
    return new ObservedOverlay(
        Optional.of(read),
        addresses,
        routes(device),
        table(
            List.of("ip", "-j", "-4", "neigh", "show", "dev", device, "nud", "permanent"),
            neighbour -> text(neighbour, "dst"),
            neighbour -> text(neighbour, "lladdr")),
        table(
            List.of("bridge", "-j", "fdb", "show", "dev", device),
            entry -> text(entry, "mac"),
            entry -> text(entry, "dst")),
        rules);
  }

  private Map<String, String> routes(String device) throws InterruptedException {
    return table(
        List.of("ip", "-j", "-4", "route", "show", "dev", device),
        route -> text(route, "dst"),
        route -> text(route, "gateway"));
  }

  /** Nothing where the program that made the interface has ended. */
  private ObservedOverlay.Tunnels tunnels(String device) throws InterruptedException {
    CommandResult shown = call(List.of("wg", "show", device, "dump"), "");
    return shown.success()
        ? ObservedOverlay.Tunnels.parse(shown.stdout())
        : ObservedOverlay.Tunnels.NONE;
  }

  private static ObservedOverlay.Link link(Json link) {
    Json kind = link.at("linkinfo");
    Json data = kind.at("info_data");
    return new ObservedOverlay.Link(
        text(kind, "info_kind"),
        text(link, "address"),
        number(link, "mtu"),
        link.at("flags").strings().contains("UP"),
        number(data, "id"),
        number(data, "port"),
        text(data, "local"),
        data.at("learning").bool().orElse(true));
  }

  /** The mark of the rules that are in force. */
  private String rules(String table) throws InterruptedException {
    CommandResult listed = call(List.of("nft", "-j", "list", "chains", "ip"), "");
    if (!listed.success()) {
      throw new AgentException.Network(
          "cannot read the rules of nftables: " + listed.stderr().strip(), null);
    }
    String mark = "";
    for (Json item : JsonText.parse(listed.stdout()).at("nftables").items()) {
      Json chain = item.at("chain");
      if (text(chain, "table").equals(table)) {
        String name = text(chain, "name");
        // a table without its mark is some of ours, too, and has to be replaced or removed
        mark = name.startsWith(OverlayRules.MARK) ? name : mark.isEmpty() ? "unmarked" : mark;
      }
    }
    return mark;
  }

  private Map<String, String> table(
      List<String> command, Function<Json, String> key, Function<Json, String> value)
      throws InterruptedException {
    CommandResult result = call(command, "");
    if (!result.success()) {
      throw new AgentException.Network(
          "'%s' failed: %s".formatted(String.join(" ", command), result.stderr().strip()), null);
    }
    var table = new HashMap<String, String>();
    if (!result.stdout().isBlank()) {
      JsonText.parse(result.stdout())
          .items()
          .forEach(item -> table.put(key.apply(item), value.apply(item)));
    }
    return table;
  }

  private CommandResult call(List<String> command, String input) throws InterruptedException {
    var words = new ArrayList<>(before);
    words.addAll(command);
    return Processes.run(
        Command.of(words).withInput(input.getBytes(StandardCharsets.UTF_8)), Deadline.after(LIMIT));
  }

  private static String text(Json json, String member) {
    return json.at(member).string().orElse("");
  }

  private static int number(Json json, String member) {
    return json.at(member).integer().orElse(0L).intValue();
  }
}
