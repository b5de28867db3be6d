package dev.zlayer.engine.deployment;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.engine.state.Change;
import dev.zlayer.engine.state.StateStore;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What a deployment reads from the store does not grow with its services, nor with its siblings.
 */
class StoreReadsTest {
  @TempDir Path artifacts;
  private final List<String> reads = new CopyOnWriteArrayList<>();

  @Test
  void aFileIsParsedOnceForAllItsServices() {
    try (var fixture = new EngineFixture(artifacts)) {
      fixture.stop();
      fixture.open(counting(fixture.store), fixture.runtime);
      fixture.up(services(30, "app:1"));
      assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.STABLE);
      fixture.up(services(30, "app:2"));
      assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.STABLE);

      assertThat(reads.stream().filter(read -> read.startsWith("find deployment.revision")))
          .as("revision files read for two times thirty services")
          .hasSizeLessThanOrEqualTo(2);
    }
  }

  @Test
  void aNewRevisionReadsOnlyTheKeysOfItsOwnDeployment() {
    try (var fixture = new EngineFixture(artifacts)) {
      fixture.stop();
      fixture.open(counting(fixture.store), fixture.runtime);
      fixture.up(services(1, "app:1"));
      fixture.up(services(1, "app:2"));

      assertThat(reads)
          .filteredOn(read -> read.contains("deployment.revision"))
          .contains("keys deployment.revision shop/")
          .noneMatch(read -> read.startsWith("list"));
    }
  }

  @Test
  void aStartParsesAFileOnceForItsJobsItsSchedulesAndItsServices() {
    try (var fixture = new EngineFixture(artifacts)) {
      fixture.up("backup: {rtype: job, image: app:1}\nweb: {image: app:1}");
      var records = new DeploymentStore(fixture.store);
      Revision newest = records.revisions(EngineFixture.NAME).getLast();

      var jobs = records.jobs();
      assertThat(records.jobs().getFirst().service())
          .isSameAs(jobs.getFirst().service())
          .isSameAs(records.spec(newest).services().get("backup"));

      records.opened();
      assertThat(records.spec(newest)).as("nothing is kept").isNotSameAs(records.spec(newest));
    }
  }

  @Test
  void theVolumesOfAFileAreReadOnceAndAnewWhenItChanges() {
    try (var fixture = new EngineFixture(artifacts)) {
      String file = "web: {image: app:1, storage: [{type: named, name: %s, target: /data}]}";
      var records = new DeploymentStore(counting(fixture.store));
      fixture.up(file.formatted("first"));
      assertThat(records.volumes().get(EngineFixture.NAME)).containsExactly("first");
      reads.clear();
      assertThat(records.volumes().get(EngineFixture.NAME)).containsExactly("first");
      assertThat(reads).noneMatch(read -> read.contains("deployment.revision"));

      fixture.up(file.formatted("second"));
      assertThat(records.volumes().get(EngineFixture.NAME)).containsExactly("second");
      fixture.store.commit(Change.of(new Change.Delete(DeploymentRecord.KIND, EngineFixture.NAME)));
      assertThat(records.volumes()).isEmpty();
    }
  }

  @Test
  void waitingReadsEventsOnlyWhenThereAreNewOnes() throws Exception {
    try (var fixture = new EngineFixture(artifacts)) {
      fixture.up(services(30, "app:1"));
      assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.STABLE);
      fixture.stop();
      fixture.open(counting(fixture.store), fixture.runtime);
      assertThat(fixture.settle().outcome()).isEqualTo(WaitResult.Outcome.STABLE);
      reads.clear();

      for (int change = 0; change < 10; change++) {
        fixture.deployments.wake();
        assertThat(fixture.look().outcome()).isEqualTo(WaitResult.Outcome.STABLE);
      }

      // each of them begins with the events since the file was applied
      assertThat(reads.stream().filter(read -> read.startsWith("events")))
          .hasSizeLessThanOrEqualTo(10);
    }
  }

  private static String services(int count, String image) {
    return IntStream.range(0, count)
        .mapToObj(i -> "s%d: {image: %s}".formatted(i, image))
        .collect(Collectors.joining("\n"));
  }

  private StateStore counting(StateStore store) {
    return (StateStore)
        Proxy.newProxyInstance(
            StateStore.class.getClassLoader(),
            new Class<?>[] {StateStore.class},
            (_, method, arguments) -> {
              if (method.getName().equals("events")) {
                reads.add("events " + arguments[0]);
              }
              if (arguments != null && arguments.length == 2 && arguments[0] instanceof String) {
                reads.add("%s %s %s".formatted(method.getName(), arguments[0], arguments[1]));
              }
              try {
                return method.invoke(store, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }
}
