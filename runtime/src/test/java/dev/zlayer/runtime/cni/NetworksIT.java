package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.NetworkSpec.Mode;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.linux.Links;
import dev.zlayer.host.linux.Namespaces;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.TaskScope;
import dev.zlayer.testkit.Recorder;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NetworksIT {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  @TempDir Path directory;
  private NetworkConfig config;
  private NetworkLeaks leaks;
  private Networks networks;
  private final Inside inside = new Inside();

  @BeforeEach
  void open() throws Exception {
    config = NetworkLeaks.config(directory).withPoolSize(0);
    leaks = new NetworkLeaks(config);
    networks = Networks.open(config);
  }

  @AfterEach
  void destroy() throws Exception {
    inside.close();
    networks.close();
    leaks.destroy();
  }

  @Test
  void aContainerCannotPoseAsTheGateway() throws Exception {
    Attachment evil = networks.attach("evil", NetworkSpec.DEFAULT);
    Attachment victim = networks.attach("victim", NetworkSpec.DEFAULT);
    String gateway = victim.gateway().orElseThrow().getHostAddress();
    assertThat(Inside.run(evil, "ip", "addr", "add", gateway + "/32", "dev", "eth0").success())
        .isTrue();
    String evilAddress =
        Inside.run(evil, "ip", "-o", "link", "show", "eth0")
            .stdout()
            .strip()
            .replaceAll("(?s).*link/ether (\\S+) .*", "$1");
    assertThat(evilAddress).hasSize(17);

    String replies = Inside.run(victim, arping(gateway)).stdout();
    assertThat(replies).contains("reply from " + gateway).doesNotContainIgnoringCase(evilAddress);

    assertThat(
            Processes.run(
                    Command.of("nft", "delete", "table", "bridge", config.prefix()),
                    Deadline.after(Duration.ofSeconds(20)))
                .success())
        .isTrue();
    assertThat(Inside.run(victim, arping(gateway)).stdout())
        .as("the attack works without the filter")
        .containsIgnoringCase(evilAddress);
  }

  /** Plugins are programs of others; of the agent they get no file and none of its variables. */
  @Test
  void aPluginGetsNoDescriptorAndNoVariableOfTheAgent() throws Exception {
    Path plugins = Files.createDirectory(directory.resolve("plugins"));
    Path seen = Files.createDirectory(directory.resolve("seen"));
    for (String name : List.of("bridge", "host-local", "loopback", "portmap", "firewall")) {
      Optional<Path> real =
          config.pluginDirectories().stream()
              .map(place -> place.resolve(name))
              .filter(Files::isExecutable)
              .findFirst();
      if (real.isPresent()) {
        Recorder.wrap(plugins.resolve(name), real.get(), seen);
      }
    }
    assertThat(System.getenv().keySet())
        .as("the agent has variables to keep")
        .anyMatch(name -> !name.matches(Recorder.HARMLESS));
    networks.close();
    networks = Networks.open(config.withPluginDirectories(plugins));
    Path kept = directory.resolve("kept-open");
    try (var file = new java.io.RandomAccessFile(kept.toFile(), "rw")) {
      assertThat(file.getFD().valid()).isTrue();
      Attachment _ = networks.attach("recorded", NetworkSpec.DEFAULT);
      networks.detach("recorded");
    }
    Recorder.check(seen, "CNI_[A-Z]+", List.of("bridge", "host-local"));
  }

  private static String[] arping(String address) {
    return new String[] {"busybox", "arping", "-b", "-c", "3", "-w", "5", "-I", "eth0", address};
  }

  @Test
  void aContainerIgnoresRouterAdvertisements() throws Exception {
    Attachment one = networks.attach("one", NetworkSpec.DEFAULT);
    assertThat(Inside.run(one, "ls", "/proc/sys/net/ipv6/conf").stdout()).contains("eth0");
    for (String setting : List.of("accept_ra", "accept_redirects")) {
      assertThat(Inside.run(one, "cat", "/proc/sys/net/ipv6/conf/eth0/" + setting).stdout())
          .as(setting)
          .isEqualTo("0\n");
    }
  }

  @Test
  void containersOfOneNetworkReachEachOtherAndTheGateway() throws Exception {
    Attachment one = networks.attach("one", NetworkSpec.DEFAULT);
    Attachment two = networks.attach("two", NetworkSpec.DEFAULT);
    inside.tcp(two, 80, "from two");

    assertThat(Inside.ask(one, two.ip().orElseThrow(), 80)).isEqualTo("from two");
    assertThat(Inside.ask(two.ip().orElseThrow(), 80)).isEqualTo("from two");
    assertThat(ping(one, one.gateway().orElseThrow())).isTrue();
    assertThat(config.subnets().contains(one.ip().orElseThrow())).isTrue();
    assertThat(networks.find("one")).contains(one);
    assertThat(networks.attached()).containsExactly("one", "two");
    leaks.assertOnly(Set.of("one", "two"), 2, 0);
  }

  @Test
  void withoutANetworkThereIsLoopbackOnly() throws Exception {
    Attachment alone = networks.attach("alone", NetworkSpec.NONE);

    assertThat(alone.ip()).isEmpty();
    assertThat(ping(alone, InetAddress.ofLiteral("127.0.0.1"))).isTrue();
    assertThat(Inside.run(alone, "ip", "-o", "link").stdout().lines()).hasSize(1);
    leaks.assertOnly(Set.of("alone"), 0, 0);
    networks.detach("alone");
    leaks.assertNone();
  }

  @Test
  void networksAreWalledOffFromEachOther() throws Exception {
    Attachment here = networks.attach("here", NetworkSpec.DEFAULT);
    Attachment there = networks.attach("there", on("elsewhere"));
    Attachment neighbour = networks.attach("neighbour", on("elsewhere"));
    inside.tcp(there, 80, "from there");

    assertThat(Inside.ask(neighbour, there.ip().orElseThrow(), 80)).isEqualTo("from there");
    assertThat(Inside.silent(here, there.ip().orElseThrow(), 80)).isTrue();
    assertThat(networks.networks())
        .extracting(NamedNetwork::name)
        .containsExactly("default", "elsewhere");
  }

  @Test
  void anUnusedNetworkIsRemovedWithItsBridge() throws Exception {
    networks.attach("there", on("elsewhere"));
    String bridge = networks.network("elsewhere").bridge();

    assertThatThrownBy(() -> networks.removeNetwork("elsewhere"))
        .isInstanceOf(AgentException.Conflict.class)
        .hasMessageContaining("in use by there");
    networks.detach("there");
    networks.removeNetwork("elsewhere");

    assertThat(Links.exists(bridge)).isFalse();
    assertThat(networks.networks()).isEmpty();
    assertThatThrownBy(() -> networks.removeNetwork("elsewhere"))
        .isInstanceOf(AgentException.NotFound.class);
    leaks.assertNone();
  }

  @Test
  void aNewAgentFindsWhatAnEarlierOneAttachedAndDetachesIt() throws Exception {
    Attachment before = networks.attach("one", NetworkSpec.DEFAULT);
    networks.attach("two", on("elsewhere"));
    Subnet subnet = networks.network("elsewhere").subnet();
    networks.close();

    networks = Networks.open(config);

    assertThat(networks.attached()).containsExactly("one", "two");
    assertThat(networks.find("one")).contains(before);
    assertThat(networks.network("elsewhere").subnet()).isEqualTo(subnet);
    networks.detach("one");
    networks.detach("one");
    networks.detach("two");
    leaks.assertNone();
  }

  @Test
  void oneNameIsAttachedOnceAndCanComeBackAtOnce() throws Exception {
    Attachment first = networks.attach("one", NetworkSpec.DEFAULT);
    assertThatThrownBy(() -> networks.attach("one", NetworkSpec.DEFAULT))
        .isInstanceOf(AgentException.Network.class)
        .hasMessageContaining("'one' is attached");

    networks.detach("one");
    Attachment second = networks.attach("one", NetworkSpec.DEFAULT);

    assertThat(second.netns()).isNotEqualTo(first.netns());
    leaks.assertOnly(Set.of("one"), 1, 0);
  }

  @Test
  void anInterfaceSomebodyDeletedIsToldByACheck() throws Exception {
    Attachment one = networks.attach("one", NetworkSpec.DEFAULT);
    networks.check("one");

    Inside.run(one, "ip", "link", "delete", "eth0");

    assertThatThrownBy(() -> networks.check("one"))
        .isInstanceOf(AgentException.Network.class)
        .hasMessageContaining("cni plugin bridge exited with 1 on CHECK");
    networks.detach("one");
    leaks.assertNone();
  }

  @Test
  void theNextContainersAreConnectedAsThePluginsConnectTheFirst() throws Exception {
    Attachment first = networks.attach("first", NetworkSpec.DEFAULT);
    Path plugins = config.addresses().resolve("default/last_reserved_ip.0");
    assertThat(plugins).hasContent(first.ip().orElseThrow().getHostAddress());
    // from here on none would be found
    networks.close();
    networks = Networks.open(config.withPluginDirectories(directory.resolve("none")));
    Attachment second = networks.attach("second", NetworkSpec.DEFAULT);

    for (String looks :
        List.of(
            "ip -o -4 addr show eth0",
            "ip -o -6 addr show eth0",
            "ip route",
            "cat /proc/sys/net/ipv4/conf/eth0/arp_notify",
            "cat /proc/sys/net/ipv6/conf/eth0/accept_dad")) {
      // the kernel gives addresses of IPv6 a moment after the cable is plugged in
      Awaitility.await()
          .atMost(LIMIT)
          .untilAsserted(
              () ->
                  assertThat(general(second, looks))
                      .as(looks)
                      .isNotEmpty()
                      .isEqualTo(general(first, looks)));
    }
    assertThat(ping(second, first.ip().orElseThrow())).isTrue();
    assertThat(leaks.cables()).hasSize(2);
    for (String cable : leaks.cables()) {
      Command shown = Command.of("bridge", "-d", "link", "show", "dev", cable);
      assertThat(Processes.run(shown, Deadline.after(LIMIT)).stdout()).contains("hairpin on");
    }

    networks.close();
    networks = Networks.open(config);
    networks.check("second"); // by the plugins
  }

  /** What a program inside prints, without what differs between containers. */
  private static String general(Attachment container, String command) throws Exception {
    return Inside.run(container, command.split(" "))
        .stdout()
        .replace(text(container), "ADDRESS")
        .replaceAll("fe80::[0-9a-f:]+", "LOCAL")
        .replaceAll("(?m)^\\d+: |eth0@if\\d+", "");
  }

  private static String text(Attachment container) {
    return container.ip().orElseThrow().getHostAddress();
  }

  @Test
  void aNamespaceThatIsKeptBusyLosesItsInterface() throws Exception {
    Attachment one = networks.attach("one", NetworkSpec.DEFAULT);
    inside.tcp(one, 80, "still here");

    networks.detach("one");
    networks.settle(Deadline.after(LIMIT));

    assertThat(leaks.cables()).isEmpty();
    leaks.assertNone();
  }

  @Test
  void fiftyTimesInAndOutLeavesNothing() throws Exception {
    for (int round = 0; round < 50; round++) {
      networks.attach("container" + round, NetworkSpec.DEFAULT);
      networks.detach("container" + round);
    }
    networks.settle(Deadline.after(LIMIT));
    leaks.assertNone();
    assertThat(networks.strayAddresses()).isEmpty();
  }

  @Test
  void twentyAtOnceHaveAddressesOfTheirOwn() throws Exception {
    List<TaskScope.Task<Attachment>> tasks = new ArrayList<>();
    Set<String> names = new HashSet<>();
    try (var scope = new TaskScope("attach")) {
      for (int number = 0; number < 20; number++) {
        String name = "container" + number;
        names.add(name);
        tasks.add(scope.fork(() -> networks.attach(name, NetworkSpec.DEFAULT)));
      }
      scope.join();
    }
    assertThat(tasks).extracting(task -> task.result().ip().orElseThrow()).doesNotHaveDuplicates();
    assertThat(networks.strayAddresses()).isEmpty();
    leaks.assertOnly(names, 20, 0);
    for (String name : names) {
      networks.detach(name);
    }
    leaks.assertNone();
  }

  @Test
  void preparedNamespacesAreTakenRefilledAndTakenDown() throws Exception {
    networks.close();
    networks = Networks.openUnfilled(config.withPoolSize(3), _ -> {});
    networks.attach("early", NetworkSpec.DEFAULT);
    assertThat(networks.prepared()).as("not asked for yet").isZero();
    assertThat(leaks.namespaces()).hasSize(1);
    networks.detach("early");
    networks.fillPools();
    networks.fillPools();
    Awaitility.await().atMost(LIMIT).until(() -> networks.prepared() == 3);
    networks.settle(Deadline.after(LIMIT));
    List<String> ready = leaks.namespaces();

    Attachment taken = networks.attach("one", NetworkSpec.DEFAULT);

    assertThat(ready).contains(taken.netns().getFileName().toString());
    assertThat(taken.ip()).isPresent();
    Awaitility.await().atMost(LIMIT).until(() -> networks.prepared() == 3);
    networks.close();
    leaks.assertOnly(Set.of("one"), 1, 0);
    networks = Networks.open(config);
    networks.detach("one");
    leaks.assertNone();
  }

  @Test
  void aRushMakesThePoolGrowAndALullCutsItBack() throws Exception {
    networks.close();
    networks = Networks.open(config.withPoolSize(1).withPoolLull(Duration.ofSeconds(2)));
    Awaitility.await().atMost(LIMIT).until(() -> networks.prepared() == 1);
    networks.attach("one", NetworkSpec.DEFAULT);
    networks.attach("two", NetworkSpec.DEFAULT);

    Awaitility.await().atMost(LIMIT).until(() -> networks.prepared() > 1);
    Awaitility.await().atMost(LIMIT).until(() -> networks.prepared() == 1);

    networks.detach("one");
    networks.detach("two");
    networks.close();
    leaks.assertNone();
  }

  @Test
  void anAddressIsGivenBackOnlyByItsOwner() throws Exception {
    Attachment one = networks.attach("one", NetworkSpec.DEFAULT);
    Path file =
        config
            .addresses()
            .resolve(NamedNetwork.DEFAULT)
            .resolve(one.ip().orElseThrow().getHostAddress());
    Files.writeString(file, "somebody-else\r\neth0");
    networks.detach("one");
    networks.settle(Deadline.after(LIMIT));
    assertThat(file).exists();
    Files.delete(file);
    leaks.assertNone();
  }

  @Test
  void aPreparedNamespaceThatVanishedIsNotHandedOut() throws Exception {
    networks.close();
    networks = Networks.open(config.withPoolSize(1));
    Awaitility.await().atMost(LIMIT).until(() -> networks.prepared() == 1);
    Namespaces.delete(config.namespaces().resolve(leaks.namespaces().getFirst()));

    Attachment one = networks.attach("one", NetworkSpec.DEFAULT);

    assertThat(Namespaces.alive(one.netns())).isTrue();
    networks.detach("one");
    networks.close();
    leaks.assertNone();
  }

  @Test
  void whatARebootTookIsCleanedUp() throws Exception {
    Attachment one = networks.attach("one", NetworkSpec.DEFAULT);
    networks.attach("two", NetworkSpec.DEFAULT);
    networks.close();
    Namespaces.delete(one.netns());

    networks = Networks.open(config);

    assertThat(networks.attached()).containsExactly("two");
    leaks.assertOnly(Set.of("two"), 1, 0);
  }

  @Test
  void aNetworkAvoidsRangesThatTheHostRoutes() throws Exception {
    Attachment one = networks.attach("one", NetworkSpec.DEFAULT);
    NetworkConfig random = NetworkLeaks.config(directory.resolve("other")).withPoolSize(0);
    NetworkConfig other = random.withPrefix(random.prefix(), config.subnets());
    var otherLeaks = new NetworkLeaks(other);
    try (Networks second = Networks.open(other)) {
      Attachment two = second.attach("two", NetworkSpec.DEFAULT);
      assertThat(networks.network("default").subnet())
          .isNotEqualTo(second.network("default").subnet());
      assertThat(two.ip()).isNotEqualTo(one.ip());
      second.detach("two");
    } finally {
      otherLeaks.destroy();
    }
  }

  @Test
  void aMissingPluginNamesItsPackage() throws Exception {
    networks.close();
    networks = Networks.open(config.withPluginDirectories(directory));

    assertThatThrownBy(() -> networks.attach("one", NetworkSpec.DEFAULT))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("install containernetworking-plugins");
    assertThat(networks.attached()).isEmpty();
  }

  private static NetworkSpec on(String network) {
    return NetworkSpec.of(new Mode.Bridge(Optional.of(network)));
  }

  private static boolean ping(Attachment from, InetAddress to) throws InterruptedException {
    return Inside.run(from, "busybox", "ping", "-c", "1", "-W", "20", to.getHostAddress())
        .success();
  }
}
