package dev.zlayer.engine.job;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.engine.translate.ReplicaSettings;
import dev.zlayer.engine.translate.ServiceTranslator;
import java.nio.file.Path;
import java.util.function.Function;

/** Containers of jobs as their deployment file and the trigger ask. */
public final class TranslatedContainers implements JobContainers {
  private final ServiceTranslator translator;
  private final Function<String, Path> directories;

  /** Asks {@code directories} where the relative paths of a deployment's file start. */
  public TranslatedContainers(ServiceTranslator translator, Function<String, Path> directories) {
    this.translator = translator;
    this.directories = directories;
  }

  @Override
  public ContainerSpec spec(JobDefinition job, Overrides overrides) {
    JobKey key = job.key();
    ContainerSpec spec =
        translator.translate(
            key.deployment(),
            key.name(),
            job.service(),
            job.directory().orElseGet(() -> directories.apply(key.deployment())));
    ProcessSpec process = spec.process();
    if (overrides.args().isPresent()) {
      process = process.withArgs(overrides.args().get().toArray(String[]::new));
    }
    var settings = new ReplicaSettings(overrides.gpus(), overrides.env());
    return settings.of(spec.withProcess(process));
  }
}
