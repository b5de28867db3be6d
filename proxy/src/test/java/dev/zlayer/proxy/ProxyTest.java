package dev.zlayer.proxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.DeploymentNames.Range;
import dev.zlayer.port.Rotation.Member;
import dev.zlayer.port.Rotation.Members;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.Exposure;
import dev.zlayer.spec.network.NetworkingSpec.Reachability;
import dev.zlayer.testkit.FreePorts;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The proxy with a program in place of nft that keeps what it is given, or fails when told. */
class ProxyTest {
  private static final ServiceKey WEB = new ServiceKey("shop", "web");
  private static final Range RANGE =
      new Range("b0", InetAddress.ofLiteral("10.0.0.0"), 24, InetAddress.ofLiteral("10.0.0.1"));

  @TempDir Path directory;
  private Path state;
  private Path failing;
  private Path written;
  private ProxyConfig config;
  private Proxy proxy;
  private int port;

  @BeforeEach
  void open() throws Exception {
    state = directory.resolve("endpoints");
    failing = directory.resolve("failing");
    written = directory.resolve("written");
    Path nft = directory.resolve("nft");
    Files.writeString(
        nft,
        "#!/bin/sh\n[ -e %s ] && { echo no kernel >&2; exit 1; }\ncat \"$2\" >> %s\n"
            .formatted(failing, written),
        java.nio.charset.StandardCharsets.UTF_8);
    Files.setPosixFilePermissions(nft, PosixFilePermissions.fromString("rwx------"));
    config =
        ProxyConfig.of(
                state,
                directory.resolve("doors.json"),
                address -> address.getHostAddress().startsWith("10."))
            .withPrefix("test")
            .withNft(nft.toString());
    proxy = Proxy.open(config, _ -> {});
    port = FreePorts.take();
  }

  @AfterEach
  void close() throws Exception {
    proxy.close();
  }

  @Test
  void anUpdateThatNftRefusedIsAppliedByTheNextAttempt() throws Exception {
    Files.createFile(failing);
    assertThatThrownBy(() -> proxy.update(web(1))).isInstanceOf(AgentException.Network.class);
    assertThat(proxy.describe()).isEmpty();
    repair();

    proxy.update(web(1));

    assertThat(commands()).contains("dnat to 10.0.0.1:8080");
    assertThat(proxy.describe()).hasSize(1);
  }

  @Test
  void anUpdateThatTheDiskRefusedIsAppliedByTheNextAttempt() throws Exception {
    breakDisk();
    assertThatThrownBy(() -> proxy.update(web(1)))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("cannot write");
    assertThat(commands()).as("what is not stored is not applied").doesNotContain("10.0.0.1:8080");
    repairDisk();

    proxy.update(web(1));

    assertThat(commands()).contains("dnat to 10.0.0.1:8080");
    proxy.close();
    proxy = Proxy.open(config, _ -> {});
    assertThat(proxy.describe()).hasSize(1);
  }

  /** However many others there are, neither their rules nor their files are written again. */
  @Test
  void anUpdateTouchesItsOwnServiceOnly() throws Exception {
    for (int number = 0; number < 20; number++) {
      port = FreePorts.take();
      proxy.update(service(new ServiceKey("shop", "other" + number), 100 + number));
    }
    port = FreePorts.take();
    proxy.update(web(1));
    Map<Path, Object> before = files();
    Files.delete(written);

    proxy.update(web(2));

    assertThat(commands()).contains("10.0.0.2").doesNotContain("10.0.0.10", "10.0.0.11");
    Map<Path, Object> after = files();
    assertThat(after.keySet()).isEqualTo(before.keySet()).hasSizeGreaterThan(20);
    assertThat(after.entrySet().stream().filter(file -> !before.containsValue(file.getValue())))
        .as("files that were written again")
        .hasSize(1);
  }

  /** Each file of the state with its inode, which is another one after it was replaced. */
  private Map<Path, Object> files() throws IOException {
    var files = new HashMap<Path, Object>();
    try (var found = Files.walk(state)) {
      for (Path file : found.filter(Files::isRegularFile).toList()) {
        files.put(file, Files.getAttribute(file, "unix:ino"));
      }
    }
    return files;
  }

  @Test
  void aChangeThatMayHaveHappenedIsUndoneByGoingBack() throws Exception {
    proxy.update(web(1));
    Files.createFile(failing);
    assertThatThrownBy(() -> proxy.update(web(2))).isInstanceOf(AgentException.Network.class);
    repair();

    proxy.update(web(1));

    assertThat(commands()).contains("dnat to 10.0.0.1:8080").doesNotContain("10.0.0.2");
    proxy.close();
    proxy = Proxy.open(config, _ -> {});
    assertThat(commands()).doesNotContain("10.0.0.2");
  }

  @Test
  void aRemovalThatFailedIsRepeated() throws Exception {
    proxy.update(web(1));
    Files.createFile(failing);
    assertThatThrownBy(() -> proxy.remove(WEB)).isInstanceOf(AgentException.Network.class);
    repair();

    proxy.retain(Set.of());

    assertThat(commands()).contains("delete table ip test_endpoints").doesNotContain("10.0.0.1");
    assertThat(proxy.describe()).isEmpty();
  }

  @Test
  void aNetworkWhoseNamesCouldNotBeServedIsOpenedByTheNextAttempt() throws Exception {
    Files.createFile(failing);
    assertThatThrownBy(() -> proxy.open("shop", RANGE)).isInstanceOf(AgentException.Network.class);
    repair();
    proxy.open("shop", RANGE);
    assertThat(commands()).contains("name_servers { \"b0\" . 10.0.0.1 }");

    breakDisk();
    assertThatThrownBy(() -> proxy.open("blog", RANGE)).hasMessageContaining("cannot write");
    repairDisk();
    Files.deleteIfExists(written);
    proxy.open("blog", RANGE);
    assertThat(commands()).contains("name_servers { \"b0\" . 10.0.0.1 }");
  }

  @Test
  void aPortOfAFailedUpdateIsFreeForOthers() throws Exception {
    Files.createFile(failing);
    assertThatThrownBy(() -> proxy.update(web(1))).isInstanceOf(AgentException.Network.class);
    repair();

    proxy.update(service(new ServiceKey("blog", "web"), 3));

    assertThat(proxy.describe()).singleElement().asString().contains("blog/web");
  }

  @Test
  void aPortThatAContainerPublishedIsNamedWithIt() throws Exception {
    proxy.close();
    try (var _ = new ServerSocket(port)) {
      proxy =
          Proxy.open(
              config.withPublishers((_, number) -> Optional.of("container 'c' " + number)),
              _ -> {});
      assertThatThrownBy(() -> proxy.update(web(1)))
          .isInstanceOf(AgentException.Configuration.class)
          .hasMessage(
              "shop/web: endpoint 'http': port %1$d is already in use by container 'c' %1$d; stop"
                  + " it or choose another port",
              port);
    }
  }

  private void repair() throws IOException {
    Files.delete(failing);
    Files.deleteIfExists(written);
  }

  private void breakDisk() throws IOException {
    Files.deleteIfExists(written);
    Files.move(state, directory.resolve("aside"));
    Files.createFile(state);
  }

  private void repairDisk() throws IOException {
    Files.delete(state);
    Files.move(directory.resolve("aside"), state);
  }

  private String commands() throws IOException {
    return Files.exists(written) ? Files.readString(written) : "";
  }

  private Members web(int member) {
    return service(WEB, member);
  }

  private Members service(ServiceKey service, int member) {
    var endpoint =
        new EndpointSpec(
            "http",
            EndpointSpec.Protocol.TCP,
            port,
            Optional.of(8080),
            Exposure.PUBLIC,
            Optional.empty());
    return new Members(
        service,
        List.of(endpoint),
        Reachability.NEVER,
        List.of(
            new Member(
                ContainerId.of(service.deployment(), service.service(), member),
                InetAddress.ofLiteral("10.0.0." + member),
                true)));
  }
}
