package dev.zlayer.runtime.cni;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class GivenAddressesTest {
  private static final Subnet SUBNET = Subnet.parse("10.7.0.0/24");
  private static final Subnet6 SUBNET6 = Subnet6.parse("2001:389::/64");

  private static NetworkOptions options(
      Optional<String> range, Optional<String> range6, Map<String, String> reserved) {
    var addresses = new java.util.HashMap<String, InetAddress>();
    reserved.forEach((use, text) -> addresses.put(use, InetAddress.ofLiteral(text)));
    return new NetworkOptions(
        Optional.of(SUBNET),
        Optional.of(InetAddress.ofLiteral("10.7.0.254")),
        range.map(Subnet::parse),
        true,
        Optional.of(SUBNET6),
        false,
        Map.of(),
        Optional.empty(),
        Optional.of(InetAddress.ofLiteral("2001:389::ffff")),
        range6.map(Subnet6::parse),
        addresses);
  }

  private static NamedNetwork network(NetworkOptions options) {
    return new NamedNetwork("net", "zl1", SUBNET, Optional.of(SUBNET6), options);
  }

  private static Map<String, String> range(String start, String end) {
    return Map.of(
        "subnet", "10.7.0.0/24", "gateway", "10.7.0.254", "rangeStart", start, "rangeEnd", end);
  }

  private static Map<String, String> range6(String start, String end) {
    return Map.of(
        "subnet",
        "2001:389::/64",
        "gateway",
        "2001:389::ffff",
        "rangeStart",
        start,
        "rangeEnd",
        end);
  }

  @Test
  void theWholeSubnetIsGivenUnlessARangeIsAskedFor() {
    var whole = options(Optional.empty(), Optional.empty(), Map.of());
    assertThat(GivenAddresses.of(network(whole), false))
        .containsExactly(Map.of("subnet", "10.7.0.0/24", "gateway", "10.7.0.254"));
    assertThat(GivenAddresses.ofIpv6(network(whole), SUBNET6, false))
        .containsExactly(Map.of("subnet", "2001:389::/64", "gateway", "2001:389::ffff"));
    var part = options(Optional.of("10.7.0.128/25"), Optional.of("2001:389::/96"), Map.of());
    assertThat(GivenAddresses.of(network(part), false))
        .containsExactly(range("10.7.0.128", "10.7.0.254"));
    assertThat(GivenAddresses.ofIpv6(network(part), SUBNET6, false))
        .containsExactly(range6("2001:389::1", "2001:389::ffff:ffff"));
    assertThat(GivenAddresses.of(network(part), true))
        .hasSize(1)
        .first()
        .satisfies(range -> assertThat(range).doesNotContainKey("rangeStart"));
  }

  @Test
  void reservedAddressesAreLeftOut() {
    var options =
        options(
            Optional.empty(),
            Optional.empty(),
            Map.of("a", "10.7.0.1", "b", "10.7.0.9", "c", "10.7.0.10", "d", "2001:389::5"));
    assertThat(GivenAddresses.of(network(options), false))
        .containsExactly(range("10.7.0.2", "10.7.0.8"), range("10.7.0.11", "10.7.0.254"));
    assertThat(GivenAddresses.ofIpv6(network(options), SUBNET6, true))
        .containsExactly(
            range6("2001:389::1", "2001:389::4"),
            range6("2001:389::6", "2001:389::ffff:ffff:ffff:ffff"));
    options.check("net");
  }

  @Test
  void whatIsOutsideOfTheSubnetIsRefused() {
    for (NetworkOptions odd :
        List.of(
            options(Optional.empty(), Optional.empty(), Map.of("a", "10.8.0.1")),
            options(Optional.empty(), Optional.of("2001:38a::/96"), Map.of()),
            options(Optional.empty(), Optional.of("2001::/16"), Map.of()))) {
      assertThatThrownBy(() -> odd.check("net"))
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessageStartingWith("network 'net': ");
    }
  }

  @Test
  void allIsReadAgainAsItWasStored(@org.junit.jupiter.api.io.TempDir java.nio.file.Path directory)
      throws Exception {
    NamedNetwork network =
        network(
            options(
                Optional.of("10.7.0.128/25"),
                Optional.of("2001:389::/96"),
                Map.of("a", "10.7.0.9", "d", "2001:389::5")));
    java.nio.file.Path file = directory.resolve("net.json");
    java.nio.file.Files.write(file, dev.zlayer.json.JsonText.bytes(NetworkStore.json(network)));
    assertThat(NetworkStore.read(file)).isEqualTo(network);
  }
}
