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

  private static final Duration LIMIT = Duration.ofSeconds(20);

  private final String host;
  private final String client;

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
  }
}
