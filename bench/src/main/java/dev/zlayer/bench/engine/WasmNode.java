package dev.zlayer.bench.engine;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.Outcome;
import dev.zlayer.container.WaitCondition;
import dev.zlayer.engine.job.ExecutionId;
import dev.zlayer.engine.job.ExecutionStatus;
import dev.zlayer.engine.job.JobConfig;
import dev.zlayer.engine.job.JobDefinition;
import dev.zlayer.engine.job.JobExecutor;
import dev.zlayer.engine.job.JobKey;
import dev.zlayer.engine.job.JobParts;
import dev.zlayer.engine.job.Trigger;
import dev.zlayer.engine.job.TriggerRequest;
import dev.zlayer.engine.state.SqliteStateStore;
import dev.zlayer.engine.state.StoreConfig;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.image.ImageStore;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.port.Container;
import dev.zlayer.runtime.wasm.WasmRuntime;
import dev.zlayer.runtime.wasm.WasmSettings;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.read.SpecReader;
import dev.zlayer.spec.read.SpecResult;
import dev.zlayer.task.Deadline;
import dev.zlayer.task.Pauses;
import dev.zlayer.task.Supervisor;
import dev.zlayer.task.TimeSource;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.random.RandomGenerator;

/** Our runtime for modules, and jobs on it, on one directory. */
public final class WasmNode implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofMinutes(2);
  private static final JobKey JOB = new JobKey("bench", "hello");

  private final ImageStore images;
  private final WasmRuntime runtime;
  private final SqliteStateStore state;
  private final JobExecutor jobs;
  private long made;

  public WasmNode(Path directory, byte[] hello) throws Exception {
    Files.createDirectories(directory);
    DataDir dirs = DataDir.under(directory);
    TimeSource clock = TimeSource.of(InstantSource.system());
    this.images = ZlayerNode.store(dirs);
    this.runtime = WasmRuntime.open(dirs, images, WasmSettings.standard(), clock);
    ImageRef image = load("hello", hello);
    this.state = SqliteStateStore.open(dirs.stateFile(), StoreConfig.DEFAULT);
    this.jobs =
        JobExecutor.open(
            new JobParts(
                state,
                runtime,
                (_, _) -> ContainerSpec.of(image).withNetwork(NetworkSpec.NONE),
                (_, _) -> {},
                dirs.artifacts(),
                clock,
                Pauses.REAL,
                RandomGenerator.getDefault(),
                new Supervisor()),
            JobConfig.DEFAULT,
            List.of(job(image)));
  }

  private static JobDefinition job(ImageRef image) {
    String file =
        """
        version: v1
        deployment: bench
        services:
          hello: {rtype: job, image: {name: "%s"}}
        """
            .formatted(image);
    return switch (SpecReader.read("bench.yml", file.getBytes(StandardCharsets.UTF_8))) {
      case SpecResult.Valid valid -> definition(valid.spec());
      case SpecResult.Invalid invalid -> throw new IllegalStateException(invalid.problems() + "");
    };
  }

  private static JobDefinition definition(DeploymentSpec spec) {
    return new JobDefinition(
        JOB, java.util.Objects.requireNonNull(spec.services().get(JOB.name())));
  }

  /** Makes an image of a module. */
  public ImageRef load(String name, byte[] module) throws InterruptedException {
    ImageRef reference = ImageRef.parse("localhost/" + name + ":bench");
    images.images().importRoot(new ByteArrayInputStream(module), reference);
    return reference;
  }

  /** Create, start, end known, remove. */
  public void run(ContainerSpec spec) throws InterruptedException {
    Container container = runtime.create(ContainerId.of("bench", "m" + ++made, 1), spec);
    container.start();
    Outcome outcome = container.await(WaitCondition.NOT_RUNNING, Deadline.after(TIMEOUT));
    container.remove(false);
    if (!outcome.status().success()) {
      throw new IllegalStateException(outcome.status().text());
    }
  }

  /** From the trigger of a durable job to its recorded result. */
  public void runJob() throws InterruptedException {
    ExecutionId id = jobs.trigger(TriggerRequest.of(JOB, new Trigger.Internal("bench")));
    ExecutionStatus status = jobs.await(id, Deadline.after(TIMEOUT)).status();
    if (!(status instanceof ExecutionStatus.Completed)) {
      throw new IllegalStateException(status.toString());
    }
  }

  @Override
  public void close() {
    jobs.close();
    state.close();
    runtime.close();
    images.close();
  }
}
