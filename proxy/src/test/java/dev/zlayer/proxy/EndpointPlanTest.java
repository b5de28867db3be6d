package dev.zlayer.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.port.Rotation.Member;
import dev.zlayer.port.Rotation.Members;
import dev.zlayer.spec.network.EncryptionSpec;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.EndpointSpec.Protocol;
import dev.zlayer.spec.network.Exposure;
import dev.zlayer.spec.network.NetworkingSpec.Reachability;
import dev.zlayer.spec.network.RoutePolicy;
import dev.zlayer.spec.network.RouteSpec;
import dev.zlayer.spec.value.HostNames;
import dev.zlayer.spec.value.Transport;
import java.net.InetAddress;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

class EndpointPlanTest {
  private static final ServiceKey WEB = new ServiceKey("shop", "web");
  private static final Predicate<InetAddress> BRIDGED =
      address -> address.getHostAddress().startsWith("10.");

  @Test
  void aPublicEndpointForwardsToItsReadyMembers() {
    EndpointPlan plan =
        plan(Reachability.NEVER, List.of(web(Exposure.PUBLIC)), one(1, true), one(2, false));

    assertThat(plan.problems()).isEmpty();
    assertThat(plan.endpoints())
        .containsExactly(
            new Endpoint(
                new Endpoint.Key(Transport.TCP, false, 80),
                WEB,
                "http",
                8080,
                Endpoint.Forwarding.KERNEL,
                List.of(InetAddress.ofLiteral("10.0.0.1"))));
  }

  @Test
  void anInternalEndpointIsOnLoopbackWhenAskedForOrWhenThereIsOneReplica() {
    List<EndpointSpec> internal = List.of(web(Exposure.INTERNAL));
    Member next = new Member(one(1, true).id().withGeneration(2), one(2, true).address(), true);

    assertThat(plan(Reachability.NEVER, internal, one(1, true)).endpoints()).isEmpty();
    assertThat(plan(Reachability.AUTO, internal, one(1, true), one(2, true)).endpoints()).isEmpty();
    assertThat(plan(Reachability.AUTO, internal, one(1, true), next).endpoints())
        .extracting(Endpoint::key)
        .containsExactly(new Endpoint.Key(Transport.TCP, true, 80));
    assertThat(plan(Reachability.ALWAYS, internal, one(1, true), one(2, true)).endpoints())
        .hasSize(1);
  }

  @Test
  void aRoleChoosesAmongTheMembers() {
    Member reader =
        new Member(
            new ContainerId("shop", "web", "reader", 1, 0),
            InetAddress.ofLiteral("10.0.0.9"),
            true);
    EndpointSpec endpoint = endpoint(Protocol.TCP, Exposure.PUBLIC, Optional.of("reader"));

    EndpointPlan plan = plan(Reachability.NEVER, List.of(endpoint), one(1, true), reader);

    assertThat(plan.endpoints().getFirst().members())
        .containsExactly(InetAddress.ofLiteral("10.0.0.9"));
  }

  @Test
  void whatTheKernelCannotForwardToIsRelayed() {
    Member foreign = new Member(one(1, true).id(), InetAddress.ofLiteral("172.17.0.2"), true);
    Member ofTheMachine = new Member(one(1, true).id(), InetAddress.ofLiteral("127.0.0.1"), true);

    assertThat(forwarding(web(Exposure.PUBLIC), foreign)).isEqualTo(Endpoint.Forwarding.RELAY);
    assertThat(forwarding(web(Exposure.PUBLIC), ofTheMachine))
        .isEqualTo(Endpoint.Forwarding.REDIRECT);
    EndpointSpec udp = endpoint(Protocol.UDP, Exposure.PUBLIC, Optional.empty());
    assertThat(plan(Reachability.NEVER, List.of(udp), foreign).problems())
        .singleElement()
        .asString()
        .contains("datagrams");
  }

  @Test
  void whatCannotBeHonouredIsNamed() {
    EndpointPlan plan =
        plan(Reachability.NEVER, List.of(web(Exposure.PUBLIC), web(Exposure.PUBLIC)), one(1, true));

    assertThat(plan.endpoints()).hasSize(1);
    assertThat(plan.problems())
        .containsExactly("endpoint 'http': another endpoint of the service has the same port");
  }

  @Test
  void endpointsOfTheIngressDoNotListenByThemselves() {
    EndpointSpec plain = web(Exposure.PUBLIC);
    var route =
        new RouteSpec(
            Optional.of(HostNames.parse("shop.test")),
            Optional.empty(),
            false,
            RouteSpec.Balance.ROUND_ROBIN,
            false,
            Optional.empty(),
            2,
            Optional.empty(),
            Optional.empty(),
            List.of(),
            List.of(),
            0,
            false,
            EncryptionSpec.NONE,
            RoutePolicy.NONE);
    var routed =
        new EndpointSpec(
            "routed",
            Protocol.HTTP,
            80,
            Optional.empty(),
            Exposure.PUBLIC,
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            route);

    EndpointPlan plan = plan(Reachability.ALWAYS, List.of(routed, plain), one(1, true));

    assertThat(plan.problems()).isEmpty();
    assertThat(plan.endpoints()).extracting(Endpoint::name).containsExactly("http");
  }

  private static Endpoint.Forwarding forwarding(EndpointSpec endpoint, Member member) {
    return plan(Reachability.NEVER, List.of(endpoint), member).endpoints().getFirst().forwarding();
  }

  private static EndpointPlan plan(
      Reachability loopback, List<EndpointSpec> endpoints, Member... members) {
    return EndpointPlan.of(new Members(WEB, endpoints, loopback, List.of(members)), BRIDGED);
  }

  private static Member one(int number, boolean ready) {
    return new Member(
        ContainerId.of("shop", "web", number), InetAddress.ofLiteral("10.0.0." + number), ready);
  }

  private static EndpointSpec web(Exposure expose) {
    return endpoint(Protocol.HTTP, expose, Optional.empty());
  }

  private static EndpointSpec endpoint(Protocol protocol, Exposure expose, Optional<String> role) {
    return new EndpointSpec("http", protocol, 80, Optional.of(8080), expose, role);
  }
}
