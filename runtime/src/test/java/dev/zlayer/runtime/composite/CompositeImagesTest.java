package dev.zlayer.runtime.composite;

import static dev.zlayer.runtime.composite.TwoRuntimes.APP;
import static dev.zlayer.runtime.composite.TwoRuntimes.LINUX;
import static dev.zlayer.runtime.composite.TwoRuntimes.WINDOWS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.Platform;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.port.Capabilities.ArtifactKind;
import dev.zlayer.port.ImageInfo;
import dev.zlayer.port.PlatformAnswer;
import dev.zlayer.port.PruneFilter;
import dev.zlayer.port.PullEvent;
import dev.zlayer.port.PullRequest;
import dev.zlayer.testkit.fake.FakeWorld;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CompositeImagesTest {
  private static final ImageRef OTHER = ImageRef.parse("registry.example/other:1");

  @TempDir Path records;
  private TwoRuntimes node;
  private CompositeRuntime composite;

  @BeforeEach
  void open() {
    node = new TwoRuntimes(records);
    composite = node.open();
  }

  @Test
  void aPullGoesOnlyToTheRuntimeThatWillRunTheImage() throws Exception {
    offer(APP, LINUX);
    Pulls.pull(composite, APP);
    assertThat(pulls(node.delegateWorld)).containsExactly(APP);
    assertThat(pulls(node.primaryWorld)).isEmpty();
  }

  @Test
  void thePlatformOfTheRequestDecides() throws Exception {
    offer(APP, LINUX);
    var request =
        new PullRequest(APP, PullPolicy.IF_NOT_PRESENT, Optional.of(WINDOWS), Optional.empty());
    composite.images().pull(request, _ -> {});
    assertThat(pulls(node.primaryWorld)).containsExactly(APP);
    assertThat(pulls(node.delegateWorld)).isEmpty();
  }

  @Test
  void aPullThatMayNotPullFindsTheImageWhereverItIs() throws Exception {
    node.delegateWorld.images().add(APP);
    var request = PullRequest.of(APP, PullPolicy.NEVER);
    assertThat(composite.images().pull(request, _ -> {}).references()).containsExactly(APP);
    assertThatThrownBy(
            () -> composite.images().pull(PullRequest.of(OTHER, PullPolicy.NEVER), _ -> {}))
        .isInstanceOf(AgentException.NotFound.class);
  }

  @Test
  void anImageForNobodyHereIsPulledByNobody() {
    offer(APP, Platform.of("freebsd", "amd64"));
    assertThatThrownBy(() -> Pulls.pull(composite, APP))
        .isInstanceOfSatisfying(
            AgentException.RouteToPeer.class, e -> assertThat(e.requiredOs()).isEqualTo("freebsd"));
    assertThat(pulls(node.primaryWorld)).isEmpty();
    assertThat(pulls(node.delegateWorld)).isEmpty();
  }

  /** Neither can tell what the image is before it is there. */
  @Test
  void anImageOfUnknownPlatformIsPulledByAll() throws Exception {
    failPulls(node.primaryWorld, () -> wrongPlatform());
    failPulls(node.delegateWorld, () -> new AgentException.PullFailed(APP.familiar(), "boom"));
    assertThatThrownBy(() -> Pulls.pull(composite, APP))
        .isInstanceOf(AgentException.PullFailed.class);
    assertThat(pulls(node.primaryWorld)).containsExactly(APP);
    assertThat(pulls(node.delegateWorld)).containsExactly(APP);
  }

  /** A skip by one and a failure of the other is no success. */
  @Test
  void aPullThatNobodyCarriedOutIsNoSuccess() {
    failPulls(node.primaryWorld, () -> wrongPlatform());
    failPulls(node.delegateWorld, () -> wrongPlatform());
    assertThatThrownBy(() -> Pulls.pull(composite, APP))
        .isInstanceOf(AgentException.WrongPlatform.class);
  }

  /** A registry that does not answer fails all of them alike; the caller reads it once. */
  @Test
  void aFailureOfAllIsReportedOnce() {
    failPulls(node.primaryWorld, () -> new AgentException.PullFailed(APP.familiar(), "boom"));
    failPulls(node.delegateWorld, () -> new AgentException.PullFailed(APP.familiar(), "boom"));
    var events = new ArrayList<PullEvent>();

    assertThatThrownBy(
            () ->
                composite
                    .images()
                    .pull(PullRequest.of(APP, PullPolicy.IF_NOT_PRESENT), events::add))
        .isInstanceOf(AgentException.PullFailed.class)
        .hasMessageContaining("boom");

    assertThat(events).isEmpty();
    assertThat(node.troubles).isEmpty();
  }

  @Test
  void troubleOfASecondaryDoesNotFailThePull() throws Exception {
    var unknown = new UnknowingRuntime(node.primary);
    var both =
        CompositeRuntime.open(
            List.of(unknown, new UnknowingRuntime(node.delegate)),
            FileDispatchRecords.open(records),
            (runtime, doing, _) -> node.troubles.add(runtime + ": " + doing));
    failPulls(node.delegateWorld, () -> new AgentException.PullFailed(APP.familiar(), "boom"));
    var notices = new ArrayList<String>();
    ImageInfo pulled =
        both.images()
            .pull(
                PullRequest.of(APP, PullPolicy.IF_NOT_PRESENT),
                event -> {
                  if (event instanceof PullEvent.Notice(String text)) {
                    notices.add(text);
                  }
                });
    assertThat(pulled.references()).containsExactly(APP);
    assertThat(pulls(node.delegateWorld)).containsExactly(APP);
    assertThat(node.troubles).containsExactly("wsl: pulling image registry.example/app:1");
    assertThat(notices).singleElement().asString().contains("wsl", "boom");
  }

  @Test
  void aSkipByThePrimaryIsNotAFailure() throws Exception {
    var both =
        CompositeRuntime.open(
            List.of(new UnknowingRuntime(node.primary), new UnknowingRuntime(node.delegate)),
            records);
    failPulls(node.primaryWorld, () -> wrongPlatform());
    assertThat(Pulls.pull(both, APP).references()).containsExactly(APP);
    assertThat(node.delegateWorld.images().find(APP)).isPresent();
  }

  @Test
  void aRuntimeThatFindsItsImageToBeForeignPassesItOn() throws Exception {
    offer(APP, WINDOWS);
    var primaryFirst =
        CompositeRuntime.open(
            List.of(
                node.primary,
                new TwoRuntimes.Switchable(
                    new dev.zlayer.testkit.fake.FakeRuntime(node.delegateWorld)
                        .serving("second", WINDOWS))),
            records);
    node.primaryWorld.images().failPull(APP, () -> wrongPlatform());
    assertThat(Pulls.pull(primaryFirst, APP).references()).containsExactly(APP);
  }

  @Test
  void troubleOfTheRuntimeThatWillRunItFailsThePull() {
    offer(APP, LINUX);
    node.delegateWorld
        .images()
        .failPull(APP, () -> new AgentException.Network("the registry is gone"));
    assertThatThrownBy(() -> Pulls.pull(composite, APP)).isInstanceOf(AgentException.Network.class);
  }

  @Test
  void onlyAnAnswerThatSaysSomethingChangesWhatIsKnown() {
    var knowledge = new ImageKnowledge(List.of());
    assertThat(knowledge.of(APP)).isInstanceOf(PlatformAnswer.Unrecognised.class);
    knowledge.learn(APP, new PlatformAnswer.Unrecognised("empty"));
    knowledge.learn(APP, new PlatformAnswer.Failing("gone"));
    assertThat(knowledge.of(APP)).isInstanceOf(PlatformAnswer.Unrecognised.class);
    var linux = new PlatformAnswer.Recognised(List.of(LINUX), ArtifactKind.ROOT_FILE_SYSTEM);
    knowledge.learn(APP, linux);
    knowledge.learn(APP, new PlatformAnswer.Unrecognised("empty"));
    knowledge.learn(APP, new PlatformAnswer.Failing("gone"));
    assertThat(knowledge.of(APP)).isEqualTo(linux);
    knowledge.forget(APP);
    assertThat(knowledge.of(APP)).isInstanceOf(PlatformAnswer.Unrecognised.class);
  }

  @Test
  void knowledgeIsByNameNotByText() {
    var knowledge = new ImageKnowledge(List.of());
    var linux = new PlatformAnswer.Recognised(List.of(LINUX), ArtifactKind.ROOT_FILE_SYSTEM);
    knowledge.learn(ImageRef.parse("nginx"), linux);
    assertThat(knowledge.of(ImageRef.parse("docker.io/library/nginx:latest"))).isEqualTo(linux);
  }

  @Test
  void knowledgeDoesNotGrowWithoutEnd() {
    var knowledge = new ImageKnowledge(List.of());
    var linux = new PlatformAnswer.Recognised(List.of(LINUX), ArtifactKind.ROOT_FILE_SYSTEM);
    for (int i = 0; i < 5000; i++) {
      knowledge.learn(ImageRef.parse("app:" + i), linux);
    }
    assertThat(knowledge.of(ImageRef.parse("app:0")))
        .isInstanceOf(PlatformAnswer.Unrecognised.class);
    assertThat(knowledge.of(ImageRef.parse("app:4999"))).isEqualTo(linux);
  }

  @Test
  void listsMergeWithoutDuplicates() {
    node.primaryWorld.images().add(APP);
    node.delegateWorld.images().add(APP);
    node.delegateWorld.images().add(OTHER);
    assertThat(composite.images().list())
        .flatExtracting(ImageInfo::references)
        .containsExactlyInAnyOrder(APP, OTHER);
  }

  @Test
  void aSecondaryThatDoesNotAnswerIsReported() {
    node.primaryWorld.images().add(APP);
    node.delegate.down = true;
    assertThat(composite.images().list()).hasSize(1);
    assertThat(composite.images().find(OTHER)).isEmpty();
    composite.images().tag(APP, OTHER);
    assertThat(composite.images().remove(OTHER, false).untagged())
        .containsExactly("registry.example/other:1");
    composite.images().prune(PruneFilter.DANGLING);
    assertThat(node.troubles)
        .contains(
            "wsl: listing images",
            "wsl: tagging image registry.example/app:1",
            "wsl: removing image registry.example/other:1",
            "wsl: pruning images");
  }

  @Test
  void removingReachesEveryCopy() {
    node.bothHave(APP, LINUX);
    assertThat(composite.images().remove(APP, false).untagged())
        .containsExactly("registry.example/app:1");
    assertThat(node.primaryWorld.images().find(APP)).isEmpty();
    assertThat(node.delegateWorld.images().find(APP)).isEmpty();
    assertThatThrownBy(() -> composite.images().remove(APP, false))
        .isInstanceOf(AgentException.NotFound.class);
  }

  @Test
  void anImageInUseAnywhereIsToldToTheCaller() throws Exception {
    node.bothHave(APP, LINUX);
    composite.create(
        dev.zlayer.container.ContainerId.of("shop", "web", 1),
        dev.zlayer.container.ContainerSpec.of(APP));
    assertThatThrownBy(() -> composite.images().remove(APP, false))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("shop/web/1");
  }

  @Test
  void taggingReachesEveryCopy() {
    node.bothHave(APP, LINUX);
    composite.images().tag(APP, OTHER);
    assertThat(node.primaryWorld.images().find(OTHER)).isPresent();
    assertThat(node.delegateWorld.images().find(OTHER)).isPresent();
    assertThatThrownBy(() -> composite.images().tag(ImageRef.parse("none:1"), OTHER))
        .isInstanceOf(AgentException.NotFound.class);
  }

  @Test
  void pruningAddsUp() {
    node.primaryWorld.images().add(APP);
    node.delegateWorld.images().add(OTHER);
    assertThat(composite.images().prune(new PruneFilter(true, Optional.empty())).untagged())
        .containsExactlyInAnyOrder("registry.example/app:1", "registry.example/other:1");
  }

  private void offer(ImageRef image, Platform platform) {
    node.primaryWorld.images().offer(image, platform);
    node.delegateWorld.images().offer(image, platform);
  }

  private static void failPulls(
      FakeWorld world, java.util.function.Supplier<AgentException> failure) {
    world.images().failPull(APP, failure);
  }

  private static AgentException wrongPlatform() {
    return new AgentException.WrongPlatform("x", "y", "z", APP.familiar());
  }

  private static List<ImageRef> pulls(FakeWorld world) {
    return world.images().pulls().stream().map(PullRequest::image).toList();
  }
}
