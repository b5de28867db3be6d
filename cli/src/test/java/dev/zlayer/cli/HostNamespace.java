package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Two network namespaces with a cable between them: one plays the host, the other a client. Nothing
 * of the machine itself is changed.
 */
public final class HostNamespace implements AutoCloseable {
  public static final String HOST = "fd00:aa::1";
  public static final String CLIENT = "fd00:aa::2";
  public static final String HOST_IPV4 = "192.0.2.1";
  public static final String CLIENT_IPV4 = "192.0.2.2";

  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final String host;
  private final String client;
  private final List<String> machines = new ArrayList<>();

  public HostNamespace() {
    String mark = Integer.toString(ThreadLocalRandom.current().nextInt(36 * 36 * 36 * 36), 36);
    this.host = "zth" + mark;
    this.client = "ztc" + mark;
    ip("netns", "add", host);
    ip("netns", "add", client);
    ip("-n", host, "link", "set", "lo", "up");
    ip("-n", client, "link", "set", "lo", "up");
    ip("-n", host, "link", "add", "up0", "type", "veth", "peer", "name", "up0", "netns", client);
    ip("-n", host, "link", "set", "up0", "up");
    ip("-n", client, "link", "set", "up0", "up");
    ip("-n", host, "addr", "add", HOST + "/64", "dev", "up0", "nodad");
    ip("-n", client, "addr", "add", CLIENT + "/64", "dev", "up0", "nodad");
    ip("-n", host, "addr", "add", HOST_IPV4 + "/24", "dev", "up0");
    ip("-n", client, "addr", "add", CLIENT_IPV4 + "/24", "dev", "up0");
    forwarding("0"); // a new namespace has what this machine has
  }

  /** Makes the host a router, or not. */
  public void forwarding(String value) {
    CommandResult set =
        onHost(
            "sysctl",
            "-q",
            "-w",
            "net.ipv4.ip_forward=" + value,
            "net.ipv6.conf.all.forwarding=" + value);
    assertThat(set.code()).as(set.stderr()).isZero();
  }

  /** Addresses of a machine behind the host. */
  public record Machine(String ipv4, String ipv6) {}

  /**
   * One more machine on a network of its own; it and the client have the host as their router.
   *
   * @param bridged by a bridge of the host, as containers of others are
   */
  public Machine machine(int number, boolean bridged) {
    String name = host + "m" + number;
    machines.add(name);
    String cable = "up" + number;
    String link = bridged ? "other" + number : cable;
    var machine = new Machine("10.213.%d.2".formatted(number), "fd00:bb:%d::2".formatted(number));
    ip("netns", "add", name);
    ip("-n", host, "link", "add", cable, "type", "veth", "peer", "name", "up0", "netns", name);
    ip("-n", host, "link", "set", cable, "up");
    if (bridged) {
      ip("-n", host, "link", "add", link, "type", "bridge");
      ip("-n", host, "link", "set", cable, "master", link);
      ip("-n", host, "link", "set", link, "up");
    }
    ip("-n", name, "link", "set", "up0", "up");
    ip("-n", name, "addr", "add", machine.ipv4() + "/24", "dev", "up0");
    ip("-n", name, "addr", "add", machine.ipv6() + "/64", "dev", "up0", "nodad");
    String router = "10.213.%d.1".formatted(number);
    String router6 = "fd00:bb:%d::1".formatted(number);
    ip("-n", host, "addr", "add", router + "/24", "dev", link);
    ip("-n", host, "addr", "add", router6 + "/64", "dev", link, "nodad");
    ip("-n", name, "route", "add", "default", "via", router);
    ip("-n", name, "-6", "route", "add", "default", "via", router6);
    ip("-n", client, "route", "add", machine.ipv4() + "/32", "via", HOST_IPV4);
    ip("-n", client, "-6", "route", "add", machine.ipv6() + "/128", "via", HOST);
    return machine;
  }

  /** The words before a program that is to run on the host. */
  public List<String> enter() {
    return enter(host);
  }

  public CommandResult onHost(String... command) {
    return run(host, command);
  }

  public CommandResult onClient(String... command) {
    return run(client, command);
  }

  /** A route of the client to addresses behind the host. */
  public void routeClient(String subnet) {
    ip("-n", client, "-6", "route", "add", subnet, "via", HOST);
  }

  /** Only the network: 'ip netns exec' would hide the cgroups of this machine, too. */
  private static List<String> enter(String namespace) {
    return List.of("nsenter", "--net=/run/netns/" + namespace);
  }

  private static CommandResult run(String namespace, String... command) {
    var words = new ArrayList<>(enter(namespace));
    words.addAll(List.of(command));
    return run(words);
  }

  private static void ip(String... arguments) {
    var words = new ArrayList<>(List.of("ip"));
    words.addAll(List.of(arguments));
    CommandResult result = run(words);
    assertThat(result.code()).as(words + ": " + result.stderr()).isZero();
  }

  private static CommandResult run(List<String> command) {
    try {
      return Processes.run(Command.of(command), Deadline.after(LIMIT));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public void close() {
    run(List.of("ip", "netns", "del", host));
    run(List.of("ip", "netns", "del", client));
    machines.forEach(machine -> run(List.of("ip", "netns", "del", machine)));
  }
}
