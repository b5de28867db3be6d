package dev.zlayer.engine.volume;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.FileSystemSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.testkit.fake.FakeRuntime;
import dev.zlayer.testkit.fake.FakeWorld;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class VolumeStoreTest {
  private static final ImageRef IMAGE = ImageRef.parse("app:1");

  @TempDir Path directory;
  private final FakeWorld world = new FakeWorld(java.time.InstantSource.system());
  private final FakeRuntime runtime = new FakeRuntime(world);
  private final Map<String, Set<String>> declared = new TreeMap<>();
  private VolumeStore volumes;

  @BeforeEach
  void open() throws IOException {
    world.images().add(IMAGE);
    for (String name : List.of("data", "cache", "old")) {
      Files.createDirectories(directory.resolve(name));
    }
    Files.createDirectories(directory.resolve(".anonymous/web-1/0"));
    Files.createDirectories(directory.resolve(".removing-lost/half"));
    volumes = VolumeStore.open(directory, runtime, () -> declared);
  }

  @Test
  void listsWhatHasANameAndFinishesWhatWasBegun() {
    assertThat(volumes.list()).extracting(VolumeInfo::name).containsExactly("cache", "data", "old");
    assertThat(directory.resolve(".removing-lost")).doesNotExist();
    assertThat(directory.resolve(".anonymous/web-1/0")).exists();
  }

  @Test
  void tellsWhoUsesItAndHowLargeItIs() throws Exception {
    use("data", 1);
    use("data", 2);
    declared.put("shop", Set.of("data"));
    Path file = Files.write(directory.resolve("data/file"), new byte[1000]);
    Files.createLink(directory.resolve("data/again"), file);
    Files.createSymbolicLink(directory.resolve("data/out"), Path.of("/etc"));

    VolumeInfo data = volumes.inspect("data");

    assertThat(data.usedBy()).containsExactly("shop/web/1", "shop/web/2");
    assertThat(data.deployments()).containsExactly("shop");
    assertThat(data.size().orElseThrow().complete()).isTrue();
    assertThat(data.size().orElseThrow().files()).isEqualTo(2);
    assertThat(data.size().orElseThrow().bytes()).isBetween(1000L, 1100L);
    assertThat(volumes.listWithSizes()).hasSize(3).contains(data);
    assertThat(volumes.list()).allMatch(volume -> volume.size().isEmpty());
  }

  @Test
  void oneThatIsUsedIsNotRemoved() throws Exception {
    Container user = use("data", 1);

    assertThatThrownBy(() -> volumes.remove("data"))
        .isInstanceOf(AgentException.Conflict.class)
        .hasMessageContaining("shop/web/1");
    assertThat(directory.resolve("data")).exists();

    user.remove(true);
    volumes.remove("data");
    assertThat(directory.resolve("data")).doesNotExist();
    assertThatThrownBy(() -> volumes.remove("data")).isInstanceOf(AgentException.NotFound.class);
    assertThatThrownBy(() -> volumes.remove("../data")).isInstanceOf(AgentException.NotFound.class);
  }

  @Test
  void pruningLeavesWhatIsMountedOrNamedByADeployment() throws Exception {
    use("data", 1);
    declared.put("shop", Set.of("cache"));
    Files.write(directory.resolve("old/file"), new byte[10]);

    List<VolumeInfo> removed = volumes.prune();

    assertThat(removed).extracting(VolumeInfo::name).containsExactly("old");
    assertThat(removed.getFirst().size().orElseThrow().bytes()).isEqualTo(10);
    assertThat(volumes.list()).extracting(VolumeInfo::name).containsExactly("cache", "data");
  }

  @Test
  void whatAClusterHasHereIsReleasedOnceItIsRemoved() throws Exception {
    var bound = new TreeSet<>(Set.of("data", "cache", "lost"));
    var used = new TreeSet<>(Set.of("data"));
    volumes.bound(
        new BoundVolumes() {
          @Override
          public void requireUnused(String volume) {
            if (used.contains(volume)) {
              throw new AgentException.Conflict("a replica uses it");
            }
          }

          @Override
          public boolean wanted(String volume) {
            return volume.equals("cache");
          }

          @Override
          public boolean release(String volume) {
            return bound.remove(volume);
          }
        });

    assertThatThrownBy(() -> volumes.remove("data")).hasMessageContaining("a replica uses it");
    assertThat(directory.resolve("data")).exists();
    used.clear();
    volumes.remove("data");
    assertThat(directory.resolve("data")).doesNotExist();
    assertThatThrownBy(() -> volumes.remove("data")).isInstanceOf(AgentException.NotFound.class);
    volumes.remove("lost"); // the agent was killed after it had removed the files
    assertThat(bound).containsExactly("cache");

    assertThat(volumes.prune()).extracting(VolumeInfo::name).containsExactly("old");
    assertThat(volumes.list()).extracting(VolumeInfo::name).containsExactly("cache");
  }

  @Test
  void aDeploymentTakesItsOwnVolumesAndNoOthers() throws Exception {
    declared.put("shop", Set.of("data", "cache", "old"));
    declared.put("blog", Set.of("cache"));
    use("old", 1);

    volumes.remove("shop", List.of("data", "cache", "old", "never-made"));

    assertThat(volumes.list()).extracting(VolumeInfo::name).containsExactly("cache", "old");
  }

  private Container use(String volume, int replica) throws InterruptedException {
    return runtime.create(
        ContainerId.of("shop", "web", replica),
        ContainerSpec.of(IMAGE)
            .withFileSystem(
                new FileSystemSpec(List.of(new Mount.Named(volume, "/data", false)), false)));
  }
}
