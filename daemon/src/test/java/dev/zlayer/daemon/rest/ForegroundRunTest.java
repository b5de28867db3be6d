package dev.zlayer.daemon.rest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ContainerStatus;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.daemon.standalone.StandaloneContainers;
import dev.zlayer.engine.secret.Redaction;
import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import dev.zlayer.testkit.fake.FakeRuntime;
import dev.zlayer.testkit.fake.FakeWorld;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Callers who are slow, and callers who have left. */
@Timeout(60)
class ForegroundRunTest {
  private static final ImageRef IMAGE = ImageRef.parse("app:1");

  private final FakeWorld world = new FakeWorld(InstantSource.system());
  private final FakeRuntime runtime = new FakeRuntime(world);
  private final StandaloneContainers standalone =
      StandaloneContainers.open(
          runtime,
          new MemoryStateStore(),
          TimeSource.of(InstantSource.system()),
          Pauses.REAL,
          new Supervisor(),
          Log.silent());
  private final ForegroundRun foreground = new ForegroundRun(standalone, () -> Redaction.NOTHING);

  @AfterEach
  void close() {
    standalone.close();
  }

  private Container make() throws InterruptedException {
    world.images().add(IMAGE);
    return standalone.create(
        ContainerSpec.of(IMAGE).withLabels(Map.of("fake.exit", "7", "fake.log", "one")),
        new StandaloneContainers.CreateRequest(
            Optional.of("one"),
            Optional.empty(),
            Optional.of(Duration.ZERO),
            Optional.empty(),
            Optional.empty()));
  }

  /** Takes its time after the start, in which nothing may be lost. */
  private static final class SlowCaller extends ByteArrayOutputStream {
    private final Container container;
    private boolean waited;
    private boolean told;

    SlowCaller(Container container) {
      this.container = container;
    }

    String text() {
      return toString(StandardCharsets.ISO_8859_1);
    }

    @Override
    public void flush() {
      told |= text().contains("ended") && !(container.status() instanceof ContainerStatus.Removed);
      if (!waited && text().contains("started")) {
        waited = true;
        try {
          var _ = container.await(WaitCondition.REMOVED, Deadline.after(Duration.ofMillis(500)));
        } catch (AgentException.Timeout _) {
          // it is still there
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
      }
    }
  }

  @Test
  void oneThatEndsAtOnceIsNotRemovedBeforeItIsRead() throws Exception {
    Container made = make();
    var caller = new SlowCaller(made);
    foreground.answer("r", made, true).writer().write(caller);
    assertThat(caller.told).as("how it ended, while it was there").isTrue();
    assertThat(caller.text()).contains("one", "\"type\":\"exit\"", "\"code\":7");
    assertThat(runtime.list()).isEmpty();
  }

  @Test
  void oneThatNobodyKnowsOfIsRemoved() throws Exception {
    foreground.answer("r", make(), false).writer().abandon();
    assertThat(runtime.list()).isEmpty();

    Container second = make();
    assertThatThrownBy(() -> foreground.answer("r", second, false).writer().write(new ClosedPipe()))
        .isInstanceOf(IOException.class);
    assertThat(runtime.list()).isEmpty();
  }

  /** As a connection whose other end has left. */
  private static final class ClosedPipe extends OutputStream {
    @Override
    public void write(int one) throws IOException {
      throw new IOException("Broken pipe");
    }
  }
}
