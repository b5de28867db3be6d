package dev.zlayer.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Rotation;
import dev.zlayer.spec.network.EndpointSpec;
import dev.zlayer.spec.network.Exposure;
import dev.zlayer.spec.network.NetworkingSpec.Reachability;
import dev.zlayer.task.Deadline;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RemoteMembersTest {
  private static final ServiceKey WEB = new ServiceKey("shop", "web");
  private static final ServiceKey DB = new ServiceKey("shop", "db");
  private static final EndpointSpec HTTP =
      new EndpointSpec(
          "http",
          EndpointSpec.Protocol.HTTP,
          80,
          Optional.of(8080),
          Exposure.PUBLIC,
          Optional.empty());

  @TempDir Path directory;
  private final Recorded served = new Recorded();
  private final List<Duration> paused = new ArrayList<>();

  @Test
  void membersOfAllNodesAreOneList() throws Exception {
    RemoteMembers rotation = open();
    rotation.update(members(WEB, 1, "10.192.1.2"));
    assertThat(served.addresses(WEB)).containsExactly("10.192.1.2");

    assertThat(rotation.remote(Map.of(WEB, members(WEB, 2, "10.192.65.2")))).isEmpty();
    assertThat(served.addresses(WEB)).containsExactly("10.192.1.2", "10.192.65.2");

    rotation.update(members(WEB, 1, "10.192.1.3"));
    assertThat(served.addresses(WEB)).containsExactly("10.192.1.3", "10.192.65.2");
    assertThat(rotation.local(WEB).orElseThrow()).hasSize(1);

    rotation.remove(WEB);
    assertThat(served.addresses(WEB)).as("of the other node").containsExactly("10.192.65.2");
    var _ = rotation.remote(Map.of());
    assertThat(served.services).isEmpty();
    assertThat(directory.resolve("remote.json")).doesNotExist();
  }

  @Test
  void aReplicaThatMovesIsThatOfThisNode() throws Exception {
    RemoteMembers rotation = open();
    var _ = rotation.remote(Map.of(WEB, members(WEB, 1, "10.192.65.2")));
    rotation.update(members(WEB, 1, "10.192.1.2"));
    assertThat(served.addresses(WEB)).containsExactly("10.192.1.2");
  }

  @Test
  void theNextAgentBeginsWithWhatWasKnownAndLeavesNoOwnMemberOut() throws Exception {
    var _ =
        open()
            .remote(
                Map.of(
                    WEB, members(WEB, 2, "10.192.65.2"),
                    DB, members(DB, 1, "10.192.65.3")));
    served.services.clear();

    RemoteMembers next = open();
    assertThat(next.begin(List.of(WEB))).containsExactly(DB, WEB);
    assertThat(served.addresses(DB)).containsExactly("10.192.65.3");
    assertThat(served.services.get(DB).endpoints()).containsExactly(HTTP);
    assertThat(served.services).as("its engine speaks first").doesNotContainKey(WEB);
    assertThat(next.local(WEB)).isEmpty();
    var _ = next.remote(Map.of(WEB, members(WEB, 3, "10.192.65.4")));
    assertThat(served.services).doesNotContainKey(WEB);

    next.update(members(WEB, 1, "10.192.1.2"));
    assertThat(served.addresses(WEB)).containsExactly("10.192.1.2", "10.192.65.4");
    assertThat(served.services).doesNotContainKey(DB);
  }

  @Test
  void whatCannotBeServedIsReportedAndTheRestIsServed() throws Exception {
    RemoteMembers rotation = open();
    served.refused.put(WEB, "port 80 is already in use by mine/web");
    assertThat(
            rotation.remote(
                Map.of(
                    WEB, members(WEB, 1, "10.192.65.2"),
                    DB, members(DB, 1, "10.192.65.3"))))
        .containsExactly("port 80 is already in use by mine/web");
    assertThat(served.services).containsKey(DB);
  }

  @Test
  void anUnreadableFileIsNoObstacle() throws Exception {
    Files.writeString(directory.resolve("remote.json"), "{\"version\": 1, \"services\": [{}]}");
    assertThat(open().begin(List.of())).isEmpty();
  }

  @Test
  void othersLearnOfAMemberThatStopsBeforeItIsDrained() throws Exception {
    RemoteMembers rotation = open();
    var member = ContainerId.of("shop", "web", 1);
    rotation.drain(member, Deadline.after(Duration.ofSeconds(30)));
    assertThat(paused).as("of this node alone").isEmpty();

    var _ = rotation.remote(Map.of(WEB, members(WEB, 2, "10.192.65.2")));
    rotation.drain(member, Deadline.after(Duration.ofSeconds(30)));
    assertThat(paused).hasSize(1);
    assertThat(paused.getFirst()).isBetween(Duration.ofSeconds(1), Duration.ofMillis(1500));
    assertThat(served.drained).hasSize(2);
  }

  private RemoteMembers open() {
    return RemoteMembers.open(served, directory.resolve("remote.json"), paused::add);
  }

  private static Rotation.Members members(ServiceKey service, int replica, String address) {
    return new Rotation.Members(
        service,
        List.of(HTTP),
        Reachability.AUTO,
        List.of(
            new Rotation.Member(
                ContainerId.of(service.deployment(), service.service(), replica),
                InetAddress.ofLiteral(address),
                true)));
  }

  /** What the proxy was told last. */
  private static final class Recorded implements Rotation {
    private final Map<ServiceKey, Members> services = new TreeMap<>();
    private final Map<ServiceKey, String> refused = new HashMap<>();
    private final List<ContainerId> drained = new ArrayList<>();

    @Override
    public void update(Members service) {
      String reason = refused.get(service.service());
      if (reason != null) {
        throw new AgentException.Configuration(reason);
      }
      services.put(service.service(), service);
    }

    @Override
    public void drain(ContainerId member, Deadline deadline) {
      drained.add(member);
    }

    @Override
    public void remove(ServiceKey service) {
      services.remove(service);
    }

    private List<String> addresses(ServiceKey service) {
      return services.get(service).members().stream()
          .map(member -> member.address().getHostAddress())
          .toList();
    }
  }
}
