package dev.zlayer.runtime.composite;

import static dev.zlayer.runtime.composite.TwoRuntimes.APP;
import static dev.zlayer.runtime.composite.TwoRuntimes.LINUX;
import static dev.zlayer.runtime.composite.TwoRuntimes.WINDOWS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.port.Container;
import dev.zlayer.port.Pausable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CompositeRuntimeTest {
  private static final ContainerId ID = ContainerId.of("shop", "web", 1);
  private static final ContainerSpec SPEC = ContainerSpec.of(APP);

  @TempDir Path records;
  private TwoRuntimes node;

  @BeforeEach
  void makeNode() {
    node = new TwoRuntimes(records);
  }

  @Test
  void theSpecSendsAContainerToItsRuntimeForItsWholeLife() throws Exception {
    node.bothHave(APP, WINDOWS);
    Container container = node.open().create(ID, SPEC.withPlatform(WINDOWS));
    container.start();
    container.stop(Duration.ofSeconds(5));
    container.remove(false);
    assertThat(node.primaryWorld.journal())
        .containsExactly("create " + ID, "start " + ID, "stop " + ID, "remove " + ID);
    assertThat(node.delegateWorld.journal()).isEmpty();
  }

  @Test
  void aLinuxSpecGoesToTheDelegate() throws Exception {
    node.bothHave(APP, LINUX);
    node.open().create(ID, SPEC.withPlatform(LINUX)).start();
    assertThat(node.delegateWorld.journal()).containsExactly("create " + ID, "start " + ID);
    assertThat(node.primaryWorld.journal()).isEmpty();
  }

  @Test
  void whatTheImageIsForDecidesWhenTheSpecIsSilent() throws Exception {
    node.bothHave(APP, LINUX);
    node.open().create(ID, SPEC);
    assertThat(node.delegateWorld.journal()).containsExactly("create " + ID);
  }

  @Test
  void aLinuxSpecWithoutADelegateIsForAPeer() {
    node.bothHave(APP, LINUX);
    var composite = node.openWithoutDelegate();
    assertThatThrownBy(() -> composite.create(ID, SPEC.withPlatform(LINUX)))
        .isInstanceOfSatisfying(
            AgentException.RouteToPeer.class, e -> assertThat(e.service()).isEqualTo("web"));
    assertThat(node.primaryWorld.journal()).isEmpty();
    assertThat(kept()).isEmpty();
  }

  @Test
  void aLinuxImageWithoutADelegateIsForAPeer() {
    node.bothHave(APP, LINUX);
    var composite = node.openWithoutDelegate();
    assertThatThrownBy(() -> composite.create(ID, SPEC))
        .isInstanceOf(AgentException.RouteToPeer.class)
        .hasMessageContaining("image 'registry.example/app:1' is for linux/amd64");
    assertThat(node.primaryWorld.journal()).isEmpty();
  }

  /** The refusal of a pull is remembered for a create that comes nevertheless. */
  @Test
  void whatAPullLearnedAboutAnImageCountsAtCreate() {
    node.primaryWorld.images().offer(APP, LINUX);
    var composite = node.openWithoutDelegate();
    assertThatThrownBy(() -> Pulls.pull(composite, APP))
        .isInstanceOf(AgentException.RouteToPeer.class);
    assertThatThrownBy(() -> composite.create(ID, SPEC))
        .isInstanceOf(AgentException.RouteToPeer.class);
    assertThat(node.primaryWorld.images().pulls()).isEmpty();
  }

  @Test
  void anUnknownContainerIsNotFound() {
    assertThat(node.open().find(ID)).isEmpty();
  }

  @Test
  void handlesAreTheRuntimesOwn() throws Exception {
    node.bothHave(APP, LINUX);
    var composite = node.open();
    assertThat(composite.create(ID, SPEC)).isInstanceOf(Pausable.class);
    assertThat(composite.find(ID).orElseThrow()).isInstanceOf(Pausable.class);
  }

  @Test
  void theChoiceSurvivesTheAgent() throws Exception {
    node.bothHave(APP, LINUX);
    node.open().create(ID, SPEC).start();
    // the image changes its mind meanwhile; the container does not move
    node.bothHave(APP, WINDOWS);
    Container found = node.open().find(ID).orElseThrow();
    assertThat(found.status().alive()).isTrue();
    found.stop(Duration.ZERO);
    assertThat(node.delegateWorld.journal()).contains("stop " + ID);
  }

  @Test
  void theChoiceIsOnDiskBeforeTheRuntimeIsAsked() {
    node.bothHave(APP, LINUX);
    var seen = new java.util.concurrent.atomic.AtomicReference<List<DispatchRecord>>();
    var composite =
        CompositeRuntime.open(
            List.of(new Watching(node.delegate, () -> seen.set(kept()))), records);
    assertThatThrownBy(() -> composite.create(ID, SPEC))
        .isInstanceOf(AgentException.CreateFailed.class);
    assertThat(seen.get()).hasSize(1);
    assertThat(kept()).as("a failed create removes its record").isEmpty();
    assertThat(composite.find(ID)).isEmpty();
  }

  @Test
  void aFailedSecondCreateLeavesTheFirstReachable() throws Exception {
    node.bothHave(APP, LINUX);
    var composite = node.open();
    composite.create(ID, SPEC).start();
    assertThatThrownBy(() -> composite.create(ID, SPEC.withPlatform(WINDOWS)))
        .isInstanceOf(AgentException.Conflict.class)
        .hasMessageContaining("exists already");
    assertThat(composite.find(ID).orElseThrow().status().alive()).isTrue();
    assertThat(kept()).hasSize(1);
    assertThat(node.primaryWorld.journal()).isEmpty();
  }

  @Test
  void aFailedRemoveLeavesItReachable() throws Exception {
    node.bothHave(APP, LINUX);
    var composite = node.open();
    Container container =
        composite.create(
            ID, SPEC.withLabels(Map.of("fake.fail", "remove", "fake.fail.times", "1")));
    assertThatThrownBy(() -> container.remove(false)).isInstanceOf(AgentException.class);
    assertThat(composite.find(ID)).isPresent();
    assertThat(node.open().find(ID)).isPresent();
    container.remove(false);
    assertThat(composite.find(ID)).isEmpty();
    assertThat(kept()).isEmpty();
  }

  @Test
  void recordsOfRemovedContainersDoNotPileUp() throws Exception {
    node.bothHave(APP, LINUX);
    var composite = node.open();
    for (int replica = 1; replica <= 200; replica++) {
      composite.create(ContainerId.of("shop", "web", replica), SPEC).remove(true);
    }
    assertThat(kept()).hasSizeLessThan(70);
    composite.list();
    assertThat(kept()).isEmpty();
  }

  /** The agent died between the record and the create. */
  @Test
  void aRecordWithoutAContainerIsDroppedAtTheNextStart() {
    FileDispatchRecords.open(records).save(DispatchRecord.of(ID, "wsl", SPEC));
    assertThat(node.open().find(ID)).isEmpty();
    assertThat(kept()).isEmpty();
  }

  @Test
  void aContainerThatNobodyRecordedIsTakenIn() throws Exception {
    node.bothHave(APP, LINUX);
    node.delegate.create(ID, SPEC).start();
    var composite = node.open();
    assertThat(composite.find(ID)).isPresent();
    assertThat(kept()).hasSize(1);
    assertThat(composite.list()).extracting(Container::id).containsExactly(ID);
  }

  @Test
  void aDamagedRecordIsMadeAnew() throws Exception {
    node.bothHave(APP, LINUX);
    node.open().create(ID, SPEC);
    Files.writeString(records.resolve("all.json"), "{\"version\":");
    assertThat(node.open().find(ID)).isPresent();
    assertThat(node.open().find(ID)).isPresent();
  }

  /** Nobody may take a container for gone because its runtime does not answer. */
  @Test
  void aRuntimeThatDoesNotAnswerKeepsItsContainers() throws Exception {
    node.bothHave(APP, LINUX);
    node.open().create(ID, SPEC).start();
    node.delegate.down = true;
    var composite = node.open();
    assertThat(composite.list())
        .singleElement()
        .satisfies(
            container -> {
              assertThat(container.id()).isEqualTo(ID);
              assertThat(container.spec()).isEqualTo(SPEC);
              assertThat(container.status()).isInstanceOf(ContainerStatus.Unknown.class);
            });
    Container found = composite.find(ID).orElseThrow();
    assertThatThrownBy(() -> found.remove(true)).isInstanceOf(AgentException.Network.class);
    assertThatThrownBy(() -> composite.create(ID, SPEC))
        .isInstanceOf(AgentException.Conflict.class);
    assertThat(node.troubles).contains("wsl: listing containers");

    node.delegate.down = false;
    assertThat(composite.find(ID).orElseThrow().status().alive()).isTrue();
    assertThat(composite.list()).hasSize(1);
  }

  @Test
  void aCreateWhoseRuntimeDiedOnTheWayIsNotForgotten() {
    node.bothHave(APP, LINUX);
    var composite =
        CompositeRuntime.open(
            List.of(new Watching(node.delegate, () -> node.delegate.down = true)), records);
    assertThatThrownBy(() -> composite.create(ID, SPEC)).isInstanceOf(AgentException.class);
    assertThat(kept()).hasSize(1);
    node.delegate.down = false;
    assertThat(composite.find(ID)).isEmpty();
    assertThat(kept()).isEmpty();
  }

  @Test
  void aRuntimeThatIsNotEnabledAnyMoreIsNamed() throws Exception {
    node.bothHave(APP, LINUX);
    node.open().create(ID, SPEC);
    Container found = node.openWithoutDelegate().find(ID).orElseThrow();
    assertThatThrownBy(() -> found.start())
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("'wsl'");
    assertThat(node.open().find(ID).orElseThrow().status())
        .isEqualTo(new ContainerStatus.Created());
  }

  @Test
  void twoRuntimesOfOneNameAreRefused() {
    assertThatThrownBy(() -> CompositeRuntime.open(List.of(node.primary, node.primary), records))
        .isInstanceOf(AgentException.Configuration.class);
    assertThatThrownBy(() -> CompositeRuntime.open(List.of(), records))
        .isInstanceOf(AgentException.Configuration.class);
  }

  /** What a later agent would find. */
  private List<DispatchRecord> kept() {
    return FileDispatchRecords.open(records).load();
  }

  @Test
  void namespacesAreSharedWithinOneRuntimeOnly() throws Exception {
    node.bothHave(APP, WINDOWS);
    CompositeRuntime composite = node.open();
    composite.create(ID, SPEC.withPlatform(WINDOWS));
    var second = ContainerId.of("shop", "second", 1);
    var network = NetworkSpec.of(new NetworkSpec.Mode.Shared(ID));
    node.bothHave(APP, LINUX);
    assertThatThrownBy(
            () -> composite.create(second, SPEC.withPlatform(LINUX).withNetwork(network)))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("the network namespace of '%s'".formatted(ID))
        .hasMessageContaining("'wsl' would run it, and 'hcs' runs the other one");
    assertThat(composite.find(second)).isEmpty();
    assertThat(node.delegateWorld.journal()).isEmpty();
  }
}
