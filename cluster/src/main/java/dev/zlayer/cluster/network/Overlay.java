package dev.zlayer.cluster.network;

import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.task.Deadline;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

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
    run(steps);
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
    run(steps);
    return steps;
  }

  private void run(List<OverlayPlanner.Step> steps) throws InterruptedException {
    for (OverlayPlanner.Step step : steps) {
      CommandResult result = call(step.command(), step.input());
      if (!result.success()) {
        throw new AgentException.Network(
            "cannot set up the network between nodes: '%s' failed: %s"
                .formatted(String.join(" ", step.command()), result.stderr().strip()),
            null);
      }
    }
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
    return new ObservedOverlay(
        Optional.of(link(link)),
        addresses,
        table(
            List.of("ip", "-j", "-4", "route", "show", "dev", device),
            route -> text(route, "dst"),
            route -> text(route, "gateway")),
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
