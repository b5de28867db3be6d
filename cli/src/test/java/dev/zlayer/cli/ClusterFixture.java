package dev.zlayer.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.certificate.Authority;
import dev.zlayer.cluster.certificate.Pem;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.CommandResult;
import dev.zlayer.host.process.Processes;
import dev.zlayer.json.Json;
import dev.zlayer.task.Deadline;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.IntFunction;

/**
 * Several machines on this one: agents with directories of their own, each in a network namespace
 * that a bridge in one more namespace connects. Nothing of the machine itself is changed.
 */
public final class ClusterFixture implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** Of the API on each machine. */
  public static final String TOKEN = "0123456789abcdef0123456789abcdef";

  private static final String LISTEN = "127.0.0.1:5910";

  private final String mark =
      "ztk" + Integer.toString(ThreadLocalRandom.current().nextInt(36 * 36 * 36), 36);
  private final Path directory;
  private final IntFunction<String> settings;
  private final List<Machine> machines = new ArrayList<>();

  /** One of them. */
  public record Machine(String namespace, String address, DaemonFixture agent, Path etcd) {
    /** The process that stores the state on it. */
    public ProcessHandle member() {
      try {
        return ProcessHandle.of(Long.parseLong(Files.readString(etcd.resolve("etcd.pid")).strip()))
            .orElseThrow();
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }

    /** The node of each running replica of a deployment, by its number, as this one shows it. */
    public Map<Long, String> replicas(String deployment) {
      var where = new TreeMap<Long, String>();
      for (Json container : agent.json("ps", deployment, "--json").items()) {
        where.put(
            container.at("replica").integer().orElseThrow(),
            container.at("node").string().orElse("-"));
      }
      return where;
    }

    /** The status and the body that its API answers to the holder of a token. */
    public String ask(String token, String path, String... arguments) {
      var words =
          new ArrayList<>(List.of("nsenter", "--net=/run/netns/" + namespace, "curl", "-sS", "-w"));
      words.addAll(List.of("%{http_code}", "-H", "Authorization: Bearer " + token));
      words.addAll(List.of(arguments));
      words.add("http://" + LISTEN + "/api/v1" + path);
      CommandResult result = run(words);
      assertThat(result.code()).as(result.stderr()).isZero();
      return result.stdout();
    }

    /**
     * Calls an address with a certificate, from where this machine is.
     *
     * @param files a directory as nodes have it
     * @return the status, or 000 when there was no answer
     */
    public String call(Path files, String url) {
      return run(List.of(
              "nsenter",
              "--net=/run/netns/" + namespace,
              "curl",
              "--silent",
              "--max-time",
              "30",
              "--output",
              "/dev/null",
              "--write-out",
              "%{http_code}",
              "--cacert",
              files.resolve("ca.crt").toString(),
              "--cert",
              files.resolve("node.crt").toString(),
              "--key",
              files.resolve("node.key").toString(),
              url))
          .stdout();
    }

    /** Runs a program in its network, as an operator on that machine would. */
    public CommandResult program(String... words) {
      var command = new ArrayList<>(List.of("nsenter", "--net=/run/netns/" + namespace));
      command.addAll(List.of(words));
      return ClusterFixture.run(command);
    }

    /** How many requests its member of etcd has got until now. */
    public long requests() {
      Path files = etcd.getParent();
      return program(
              "curl",
              "--silent",
              "--cacert",
              files.resolve("ca.crt").toString(),
              "--cert",
              files.resolve("node.crt").toString(),
              "--key",
              files.resolve("node.key").toString(),
              "https://" + address + ":2379/metrics")
          .stdout()
          .lines()
          .filter(line -> line.startsWith("grpc_server_started_total"))
          .mapToLong(line -> (long) Double.parseDouble(line.substring(line.indexOf(' ') + 1)))
          .sum();
    }

    /** One who asks the etcd of a machine with what this one has. */
    public EtcdUser asks(Machine server) {
      return new EtcdUser(Path.of("/run/netns", namespace), etcd.getParent(), server.address());
    }

    /** With which it proves itself. */
    public X509Certificate certificate() throws IOException {
      return Pem.certificate(Files.readString(etcd.resolveSibling("node.crt")));
    }

    /** As if that were so old, and its agent had been off meanwhile. */
    public void age(Duration age, Machine signer) throws IOException {
      agent.kill();
      X509Certificate root = Pem.certificate(Files.readString(etcd.resolveSibling("ca.crt")));
      String authorityKey = Files.readString(signer.etcd.resolveSibling("ca.key"));
      KeyPair pair = Authority.keys();
      X509Certificate old =
          new Authority(root, Pem.privateKey(authorityKey))
              .issue(
                  pair.getPublic(),
                  Authority.names(certificate()).toList(),
                  List.of(InetAddress.ofLiteral(address)),
                  Instant.now().minus(age));
      Files.writeString(
          etcd.resolveSibling("node.pem"), Pem.of(old) + Pem.of(root) + Pem.of(pair.getPrivate()));
      agent.restart();
    }

    /** A copy of what it proves itself with, for {@link #call}. */
    public Path copyKeys(Path target) throws IOException {
      Files.createDirectory(target);
      for (String file : List.of("ca.crt", "node.crt", "node.key")) {
        Files.copy(etcd.resolveSibling(file), target.resolve(file));
      }
      return target;
    }

    public List<String> nodes() {
      var nodes = new ArrayList<String>();
      for (Json node : agent.json("node", "ls", "--json").items()) {
        nodes.add(
            node.at("name").string().orElseThrow()
                + " "
                + node.at("status").string().orElseThrow());
      }
      return nodes;
    }
  }

  public ClusterFixture(Path directory, int count) {
    this(directory, count, _ -> "");
  }

  /** With these lines in the configuration of each machine, by its number. */
  public ClusterFixture(Path directory, int count, IntFunction<String> settings) {
    this.directory = directory;
    this.settings = settings;
    ip("netns", "add", mark);
    try {
      ip("-n", mark, "link", "add", "switch", "type", "bridge");
      ip("-n", mark, "link", "set", "switch", "up");
      for (int i = 1; i <= count; i++) {
        machines.add(start(i));
      }
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  private Machine start(int number) {
    String namespace = mark + number;
    String address = "192.0.2." + number;
    ip("netns", "add", namespace);
    ip("-n", namespace, "link", "set", "lo", "up");
    ip(
        "-n",
        mark,
        "link",
        "add",
        cable(number),
        "type",
        "veth",
        "peer",
        "eth0",
        "netns",
        namespace);
    ip("-n", mark, "link", "set", cable(number), "master", "switch", "up");
    ip("-n", namespace, "addr", "add", address + "/24", "dev", "eth0");
    ip("-n", namespace, "link", "set", "eth0", "up");
    Path own = directory.resolve("machine" + number);
    try {
      Path etc = Files.createDirectories(own.resolve("etc"));
      Path token = etc.resolve("token");
      Files.createFile(
          token,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
      Files.writeString(token, TOKEN);
      Files.writeString(
          etc.resolve("zlayer.yml"),
          "listen: %s\ntoken_file: %s\n%s".formatted(LISTEN, token, settings.apply(number)));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    // only the network: 'ip netns exec' would hide the cgroups of this machine, too
    DaemonFixture agent;
    try {
      agent = DaemonFixture.start(own, List.of("nsenter", "--net=/run/netns/" + namespace));
    } catch (RuntimeException | Error e) {
      ip("netns", "del", namespace);
      throw e;
    }
    return new Machine(namespace, address, agent, agent.dataDirectory().resolve("cluster/etcd"));
  }

  /** Counted from 1. */
  public Machine machine(int number) {
    return machines.get(number - 1);
  }

  /** Loads busybox on each machine. */
  public void withBusybox(String image) {
    machines.forEach(machine -> machine.agent().withBusybox(image));
  }

  /** Begins a cluster on the first machine, and has others join it, with these names. */
  public void form(String... names) {
    Machine first = machine(1);
    first.agent().ok("cluster", "init", "--name", names[0], "--advertise", first.address());
    for (int number = 2; number <= names.length; number++) {
      join(number, names[number - 1]);
    }
  }

  /** Has a machine join the cluster of the first one. */
  public void join(int number, String name) {
    Machine first = machine(1);
    Machine joining = machine(number);
    joining
        .agent()
        .ok(
            "cluster",
            "join",
            first.address(),
            "--token",
            first.agent().json("cluster", "token", "--json").at("token").string().orElseThrow(),
            "--name",
            name,
            "--advertise",
            joining.address());
  }

  /** Pulls the cable of a machine, or plugs it in again. */
  public void cable(int number, boolean plugged) {
    ip("-n", mark, "link", "set", cable(number), plugged ? "up" : "down");
  }

  private static String cable(int number) {
    return "port" + number;
  }

  @Override
  public void close() {
    for (Machine machine : machines) {
      leave(machine.agent());
      machine.agent().close();
      run(List.of("ip", "netns", "del", machine.namespace()));
    }
    run(List.of("ip", "netns", "del", mark));
  }

  /** What stores the state outlives its agent, so that has to run for it to end. */
  private static void leave(DaemonFixture agent) {
    try {
      agent.restart();
    } catch (RuntimeException | AssertionError _) {
      // it runs
    }
    agent.cli().run("cluster", "leave", "--force");
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
}
