package dev.zlayer.engine.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ServiceKey;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.Container;
import dev.zlayer.port.PullRequest;
import dev.zlayer.task.Supervisor;
import dev.zlayer.testkit.FakeClock;
import dev.zlayer.testkit.fake.FakeRuntime;
import dev.zlayer.testkit.fake.FakeWorld;
import dev.zlayer.testkit.fake.FaultyRuntime;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ContainerIndexTest {
  private static final ServiceKey WEB = new ServiceKey("shop", "web");
  private static final ServiceKey DB = new ServiceKey("shop", "db");

  private static final ImageRef IMAGE = ImageRef.parse("app:1");

  private final FakeClock clock = new FakeClock();
  private final FaultyRuntime runtime = new FaultyRuntime(new FakeRuntime(new FakeWorld(clock)));
  private final List<String> woken = new CopyOnWriteArrayList<>();
  private ContainerIndex index;

  @BeforeEach
  void pull() throws Exception {
    runtime.images().pull(PullRequest.of(IMAGE, PullPolicy.IF_NOT_PRESENT), _ -> {});
  }

  @AfterEach
  void close() {
    index.close();
  }

  private void open() {
    index = ContainerIndex.open(runtime, clock, new Supervisor());
    index.watch(WEB, () -> woken.add("web"));
    index.watch(DB, () -> woken.add("db"));
  }

  /** Lets the time of the next listing come. */
  private void listAgain() {
    clock.advance(Duration.ofSeconds(31));
    index.wake();
  }

  private Container make(ServiceKey key, int replica, Map<String, String> labels) throws Exception {
    ContainerId id = ContainerId.of(key.deployment(), key.service(), replica);
    return runtime.create(id, ContainerSpec.of(IMAGE).withLabels(labels));
  }

  private Container make(ServiceKey key, int replica) throws Exception {
    return make(key, replica, Map.of(TrackedContainer.HASH, "h"));
  }

  @Test
  void findsTheContainersOfAServiceAndNoOthers() throws Exception {
    make(WEB, 1);
    make(WEB, 2);
    make(DB, 1);
    make(DB, 7, Map.of());
    open();

    assertThat(index.find(WEB).containers()).hasSize(2);
    assertThat(index.find(DB).containers())
        .extracting(Container::id)
        .containsExactly(ContainerId.of("shop", "db", 1));
    assertThat(index.find(new ServiceKey("shop", "none")).containers()).isEmpty();
  }

  @Test
  void wakesOnlyServicesWhoseContainersChanged() throws Exception {
    Container web = make(WEB, 1);
    make(DB, 1);
    open();
    long before = index.find(DB).number();

    web.start();
    listAgain();
    Awaitility.await().untilAsserted(() -> assertThat(woken).containsExactly("web"));
    web.remove(true);
    listAgain();
    Awaitility.await().untilAsserted(() -> assertThat(woken).containsExactly("web", "web"));

    assertThat(index.find(WEB).containers()).isEmpty();
    assertThat(index.find(DB).number()).as("the same entry").isEqualTo(before);
  }

  @Test
  void aListingThatFailsIsMadeAgainAndThenEverybodyIsWoken() throws Exception {
    make(WEB, 1);
    runtime.fail(() -> new IllegalStateException("no answer"));
    open();
    assertThatThrownBy(() -> index.find(WEB))
        .isInstanceOf(AgentException.Internal.class)
        .hasMessageContaining("containers cannot be listed");

    runtime.recover();
    listAgain();

    Awaitility.await()
        .untilAsserted(() -> assertThat(woken).containsExactlyInAnyOrder("web", "db"));
    assertThat(index.find(WEB).containers()).hasSize(1);
  }

  @Test
  void aLaterFailureKeepsWhatIsKnown() throws Exception {
    make(WEB, 1);
    open();
    runtime.fail(() -> new AgentException.Network("no answer"));
    listAgain();
    Awaitility.await().until(() -> runtime.thrown() > 0);

    assertThat(index.find(WEB).containers()).hasSize(1);
  }
}
