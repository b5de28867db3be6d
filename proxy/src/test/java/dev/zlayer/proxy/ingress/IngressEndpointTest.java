package dev.zlayer.proxy.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import dev.zlayer.port.Rotation.Member;
import dev.zlayer.port.Rotation.Members;
import dev.zlayer.spec.network.NetworkingSpec.Reachability;
import dev.zlayer.spec.network.RouteSpec;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class IngressEndpointTest {
  private static final ServiceKey WEB = new ServiceKey("shop", "web");
  private static final IngressConfig CONFIG = IngressConfig.of(Path.of("/i"), ":80", ":443", true);

  @Test
  void aReplicaKeepsItsPlaceAndAFreeOneIsTakenAgain() {
    List<IngressEndpoint> two = of(List.of(), member(1, true), member(2, true));
    List<IngressEndpoint> second = of(two, member(2, true));
    List<IngressEndpoint> third = of(second, member(2, true), member(3, false));

    assertThat(two.getFirst().servers())
        .extracting(IngressEndpoint.Server::slot)
        .containsExactly(1, 2);
    assertThat(second.getFirst().servers())
        .extracting(IngressEndpoint.Server::slot)
        .containsExactly(2);
    assertThat(third.getFirst().servers())
        .extracting(IngressEndpoint.Server::slot)
        .containsExactly(2, 1);
    assertThat(third.getFirst().commands())
        .startsWith(
            "set server shop:web:http/s2 addr 10.0.0.2 port 8080",
            "set server shop:web:http/s2 weight 1",
            "set server shop:web:http/s2 state ready",
            "set server shop:web:http/s1 state maint")
        .hasSize(10);
  }

  @Test
  void onlyMorePlacesThanEverNeedAReload() {
    HaproxyConfig none = config(of(List.of()));
    HaproxyConfig eight = config(of(List.of(), members(8)));
    HaproxyConfig nine = config(of(List.of(), members(9)));

    assertThat(eight.fingerprint()).isEqualTo(none.fingerprint());
    assertThat(eight.text())
        .isNotEqualTo(none.text())
        .contains("server s8 10.0.0.8:8080 weight 1 cookie s8\n");
    assertThat(none.text()).contains("server s8 127.0.0.1:1 weight 1 cookie s8 disabled\n");
    assertThat(nine.fingerprint()).isNotEqualTo(none.fingerprint());
    assertThat(nine.text()).contains("server s16 127.0.0.1:1 weight 1 cookie s16 disabled\n");
  }

  @Test
  void namesOfEndpointsBecomeNamesThatHaproxyAccepts() {
    var plain = new IngressEndpoint(WEB, "http-1", 80, false, Routes.host("a.test"), List.of());
    var odd = new IngressEndpoint(WEB, "a b", 80, false, Routes.host("a.test"), List.of());
    var other = new IngressEndpoint(WEB, "a-b", 80, false, Routes.host("a.test"), List.of());

    assertThat(plain.backend()).isEqualTo("shop:web:http-1");
    assertThat(odd.backend()).matches("shop:web:a-b\\.[0-9a-f]{8}").isNotEqualTo(other.backend());
  }

  @Test
  void moreSpecificHostsComeFirst() {
    List<IngressEndpoint> endpoints =
        List.of(
            new IngressEndpoint(WEB, "a", 80, false, Routes.host("*.test"), List.of()),
            new IngressEndpoint(WEB, "b", 80, false, Routes.host("*.shop.test"), List.of()),
            new IngressEndpoint(WEB, "c", 80, false, Routes.host("shop.test"), List.of()));

    assertThat(config(endpoints).files())
        .containsEntry("wildcards.map", ".shop.test *.shop.test\n.test *.test\n")
        .containsEntry("hosts.map", "shop.test shop.test\n")
        .containsEntry("direct.map", "shop.test shop:web:c\n");
  }

  @Test
  void onlyHostsWithoutPathsAreFoundAtOnce() {
    List<IngressEndpoint> endpoints =
        List.of(
            new IngressEndpoint(WEB, "a", 80, false, Routes.host("a.test"), List.of()),
            new IngressEndpoint(WEB, "b", 80, false, Routes.host("b.test"), List.of()),
            new IngressEndpoint(
                WEB, "c", 80, false, Routes.of("b.test", Optional.of("/api")), List.of()));

    assertThat(config(endpoints).files()).containsEntry("direct.map", "a.test shop:web:a\n");
  }

  @Test
  void isReadAsItWasStored() {
    IngressEndpoint endpoint = of(List.of(), members(2)).getFirst();

    byte[] stored = JsonText.bytes(RecordJson.write(endpoint));

    assertThat(RecordJson.read(JsonText.parse(stored), IngressEndpoint.class)).isEqualTo(endpoint);
  }

  @Test
  void aRecordFromBeforeTlsIsRead(@TempDir Path directory) throws Exception {
    var endpoint = new IngressEndpoint(WEB, "a", 80, false, Routes.host("a.test"), List.of());
    var store = new IngressStore(directory);
    store.save(WEB, List.of(endpoint));
    Path file;
    try (var files = Files.list(directory)) {
      file = files.findFirst().orElseThrow();
    }
    String old =
        Files.readString(file)
            .replace("\"version\":5", "\"version\":1")
            .replace(",\"weight\":1", "")
            .replace(",\"stream\":false", "")
            .replace(",\"policy\":{}", "")
            .replace(",\"encryption\":{\"redirectHttp\":true}", "");
    assertThat(old).doesNotContain("encryption", "policy", "\"stream\"", "weight", "\"version\":5");
    Files.writeString(file, old);

    assertThat(store.load()).containsEntry(WEB, List.of(endpoint));
  }

  @Test
  void onlyEndpointsWithTlsAreServedWithIt() {
    RouteSpec plain = Routes.host("a.test");
    RouteSpec secure = Routes.withTls(Routes.host("b.test"), true);
    RouteSpec both = Routes.withTls(Routes.host("c.test"), false);

    HaproxyConfig without =
        config(List.of(new IngressEndpoint(WEB, "a", 80, false, plain, List.of())));
    HaproxyConfig with =
        config(
            List.of(
                new IngressEndpoint(WEB, "a", 80, false, plain, List.of()),
                new IngressEndpoint(WEB, "b", 80, false, secure, List.of()),
                new IngressEndpoint(WEB, "c", 80, false, both, List.of())));

    assertThat(without.text()).doesNotContain("crt-list", "challenge");
    assertThat(with.text()).contains("bind :443,:::443 v6only ssl crt-list /i/certificates.list");
    assertThat(with.files())
        .containsEntry("routes.map", "a.test/ shop:web:a\nb.test/ redirect\nc.test/ shop:web:c\n")
        .containsEntry("routes-https.map", "b.test/ shop:web:b\nc.test/ shop:web:c\n");
  }

  @Test
  void httpsHasThePortForItselfUnlessThereAreStreams() {
    RouteSpec secure = Routes.withTls(Routes.host("b.test"), true);
    var https = new IngressEndpoint(WEB, "b", 80, false, secure, List.of());
    var stream =
        new IngressEndpoint(
            WEB, "s", 90, true, Routes.withTls(Routes.host("*.s.test"), true), List.of());

    assertThat(config(List.of(https)).text()).doesNotContain("frontend tls", "accept-proxy");
    HaproxyConfig with = config(List.of(https, stream));
    assertThat(with.text())
        .contains("frontend tls", "  bind :443,:::443 v6only\n")
        .contains("bind unix@/i/empty/h mode 600 user haproxy accept-proxy ssl crt-list")
        .contains("bind unix@/i/empty/s mode 600 user haproxy accept-proxy ssl crt-list");
    assertThat(with.files())
        .containsEntry("names.map", "b.test to-https\n")
        .containsEntry("names-wildcards.map", ".s.test to-streams\n")
        .containsEntry("streams-wildcards.map", ".s.test shop:web:s\n")
        .containsEntry("routes.map", "b.test/ redirect\n");
  }

  private static HaproxyConfig config(List<IngressEndpoint> endpoints) {
    return HaproxyConfig.of(CONFIG, Optional.of("haproxy"), endpoints, Map.of());
  }

  private static Member[] members(int count) {
    return IntStream.rangeClosed(1, count)
        .mapToObj(number -> member(number, true))
        .toArray(Member[]::new);
  }

  private static Member member(int number, boolean ready) {
    return new Member(
        ContainerId.of("shop", "web", number), InetAddress.ofLiteral("10.0.0." + number), ready);
  }

  private static List<IngressEndpoint> of(List<IngressEndpoint> before, Member... members) {
    return IngressEndpoint.of(
        new Members(
            WEB,
            List.of(Routes.endpoint("http", 8080, Routes.full())),
            Reachability.NEVER,
            List.of(members)),
        before);
  }
}
