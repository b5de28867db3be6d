package dev.zlayer.engine.job;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.read.SpecReader;
import dev.zlayer.spec.read.SpecResult;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Jobs for tests, as a deployment file would define them. */
public final class Jobs {
  public static final String DEPLOYMENT = "shop";

  private Jobs() {}

  /** The services of a file, written without the head. */
  public static List<JobDefinition> parse(String services) {
    String file =
        "version: v1\ndeployment: %s\nservices:\n%s".formatted(DEPLOYMENT, services.indent(2));
    return switch (SpecReader.read("test.yml", file.getBytes(StandardCharsets.UTF_8))) {
      case SpecResult.Valid valid -> definitions(valid.spec());
      case SpecResult.Invalid invalid -> throw new AssertionError(invalid.problems());
    };
  }

  private static List<JobDefinition> definitions(DeploymentSpec spec) {
    return spec.services().entrySet().stream()
        .map(
            entry ->
                new JobDefinition(new JobKey(spec.deployment(), entry.getKey()), entry.getValue()))
        .toList();
  }

  public static JobKey key(String name) {
    return new JobKey(DEPLOYMENT, name);
  }

  /** Labels of the job, and overriding variables that begin with {@code fake.}, are behaviour. */
  public static ContainerSpec container(JobDefinition job, Overrides overrides) {
    var labels = new HashMap<>(job.service().labels());
    overrides.env().forEach(labels::put);
    return ContainerSpec.of(job.service().image().name()).withLabels(labels);
  }

  /** Overrides that make the fake runtime behave so: {@code exit=3, after=5ms}. */
  public static Overrides behaving(Map<String, String> behaviour) {
    return new Overrides(
        Optional.empty(),
        behaviour.entrySet().stream()
            .collect(Collectors.toMap(entry -> "fake." + entry.getKey(), Map.Entry::getValue)),
        Optional.empty());
  }
}
