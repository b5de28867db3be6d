package dev.zlayer.cluster.deploy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.zlayer.cluster.schedule.HostPort;
import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.port.Rotation.Member;
import dev.zlayer.port.Rotation.Members;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.Exposure;
import dev.zlayer.spec.network.NetworkingSpec.Reachability;
import dev.zlayer.spec.value.Transport;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class ForwardedPortsTest {
  private static final ServiceKey WEB = new ServiceKey("shop", "web");
  private static final ServiceKey MAIL = new ServiceKey("mail", "smtp");

  private final Simulation cluster = new Simulation();
  private final Map<ServiceKey, Members> elsewhere = new TreeMap<>();

  @Test
  void aNodeWithoutAReplicaForwardsThePortsThatAreNotOfOneAddress() throws Exception {
    cluster.node("a").node("b");
    up(
        WEB,
        "{host_port: 8080, container_port: 80}, {host_port: 8081, container_port: 80, host_ip:"
            + " 127.0.0.1}, {host_port: 53, container_port: 53, protocol: udp}, {host_port: 8082,"
            + " container_port: 80, host_ip: 192.0.2.7}, {container_port: 81}");
    members(WEB, "10.192.64.2");

    ForwardedPorts.Forwarded forwarded = forwarded(other(WEB));

    assertThat(forwarded.problems()).isEmpty();
    Members ports = forwarded.members().get(ForwardedPorts.key(WEB));
    assertThat(ports.members()).isEqualTo(elsewhere.get(WEB).members());
    assertThat(ports.loopback()).isEqualTo(Reachability.ALWAYS);
    assertThat(ports.endpoints())
        .extracting(
            EndpointSpec::port,
            EndpointSpec::containerPort,
            one -> one.protocol().transport(),
            EndpointSpec::expose)
        .containsExactly(
            tuple(8080, 80, Transport.TCP, Exposure.PUBLIC),
            tuple(8081, 80, Transport.TCP, Exposure.INTERNAL),
            tuple(53, 53, Transport.UDP, Exposure.PUBLIC));
    assertThat(forwarded.members().get(WEB)).isEqualTo(elsewhere.get(WEB));
  }

  @Test
  void theNodeOfAReplicaAndOnesWithoutReadyMembersDoNot() throws Exception {
    cluster.node("a").node("b");
    up(WEB, "{host_port: 8080, container_port: 80}");
    members(WEB, "10.192.64.2");
    assertThat(forwarded(where(WEB)).members()).containsOnlyKeys(WEB);

    members(WEB);
    assertThat(forwarded(other(WEB)).members()).containsOnlyKeys(WEB);
  }

  @Test
  void aPortThatAReplicaHereHasIsNotForwardedToAnotherService() throws Exception {
    cluster.node("a").node("b");
    up(WEB, "{host_port: 8080, container_port: 80}");
    up(MAIL, "{host_port: 8080, container_port: 25}");
    members(WEB, "10.192.64.2");
    members(MAIL, "10.192.64.3");
    assertThat(where(WEB)).isNotEqualTo(where(MAIL));

    ForwardedPorts.Forwarded forwarded = forwarded(where(MAIL));

    assertThat(forwarded.members()).containsOnlyKeys(WEB, MAIL);
    assertThat(forwarded.problems())
        .singleElement()
        .asString()
        .contains("host port 8080 of shop/web is not forwarded", "mail/smtp");
  }

  @Test
  void twoServicesElsewhereWithOnePortAreChosenByName() throws Exception {
    cluster.node("a").node("b");
    up(WEB, "{host_port: 8080, container_port: 80}");
    up(MAIL, "{host_port: 8080, container_port: 25}");
    members(WEB, "10.192.64.2");
    members(MAIL, "10.192.128.3");

    assertThat(forwarded("c").members()).containsOnlyKeys(WEB, MAIL, ForwardedPorts.key(MAIL));
  }

  @Test
  void whatAReplicaIsAboutToUseIsWithdrawn() throws Exception {
    cluster.node("a").node("b");
    up(WEB, "{host_port: 8080, container_port: 80}");
    members(WEB, "10.192.64.2");
    Map<ServiceKey, Members> all = forwarded(other(WEB)).members();

    assertThat(ForwardedPorts.without(all, Set.of(new HostPort(8080, Transport.TCP))))
        .containsOnlyKeys(WEB);
    assertThat(ForwardedPorts.without(all, Set.of(new HostPort(8080, Transport.UDP))))
        .isEqualTo(all);
  }

  private void up(ServiceKey service, String ports) throws Exception {
    cluster.up(
        service.deployment(),
        "  %s: {image: {name: web}, port_mappings: [%s]}\n".formatted(service.service(), ports));
    cluster.converge();
  }

  private void members(ServiceKey service, String... addresses) throws Exception {
    var members = new ArrayList<Member>();
    for (String address : addresses) {
      members.add(
          new Member(
              ContainerId.of(service.deployment(), service.service(), 1),
              InetAddress.ofLiteral(address),
              true));
    }
    elsewhere.put(service, new Members(service, List.of(), Reachability.AUTO, members));
  }

  private ForwardedPorts.Forwarded forwarded(String node) throws Exception {
    return ForwardedPorts.forwarded(cluster.state(), node, elsewhere, this::services);
  }

  private Map<String, ServiceSpec> services(String deployment) {
    try {
      return cluster.deployments.spec(cluster.state().desired().get(deployment)).services();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private String where(ServiceKey service) {
    return cluster.where(service.deployment(), service.service()).substring(0, 1);
  }

  private String other(ServiceKey service) {
    return where(service).equals("a") ? "b" : "a";
  }
}
