package dev.zlayer.spec.read;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.problem.Position;
import dev.zlayer.spec.problem.Problem;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.yaml.YamlNode;
import dev.zlayer.spec.yaml.YamlNode.Entry;
import dev.zlayer.spec.yaml.YamlNode.Mapping;
import dev.zlayer.spec.yaml.YamlNode.Scalar;
import dev.zlayer.spec.yaml.YamlNode.ScalarKind;
import dev.zlayer.spec.yaml.YamlReader;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Reads the file of a job that belongs to no deployment. It holds the keys of the job at its top,
 * or is a deployment file of which one job is taken.
 */
public final class JobReader {
  private static final Pattern NAME =
      Pattern.compile("[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?");

  private JobReader() {}

  /** A job that can be run without its neighbours. */
  public record JobFile(String name, ServiceSpec service) {}

  /**
   * Reads a job.
   *
   * @param name which job, or how to call the one that the file holds; when absent, the only job of
   *     a deployment file, otherwise the name of the file up to its first dot
   * @throws AgentException.InvalidSpec all problems with their positions, one per line
   * @throws AgentException.Unsupported keys that nothing acts on
   * @throws AgentException.NotFound the file has no such job
   */
  public static JobFile read(String fileName, byte[] content, Optional<String> name) {
    var problems = new Problems(fileName);
    Optional<YamlNode> root = YamlReader.read(content, problems);
    if (root.isEmpty()) {
      throw new AgentException.InvalidSpec(text(problems.sorted(), ""));
    }
    boolean whole =
        !(root.get() instanceof Mapping mapping) || mapping.find("services").isPresent();
    if (whole) {
      DeploymentSpec spec = require(SpecReader.check(fileName, root.get(), problems), "");
      String chosen = name.orElseGet(() -> onlyJob(fileName, spec));
      return single(fileName, chosen, "services." + chosen + ".", spec);
    }
    String chosen = name.orElseGet(() -> nameOf(fileName));
    requireName(chosen);
    YamlNode wrapped = wrapped(chosen, (Mapping) root.get());
    String prefix = "services." + chosen + ".";
    DeploymentSpec spec = require(SpecReader.check(fileName, wrapped, problems), prefix);
    return single(fileName, chosen, "", spec);
  }

  private static DeploymentSpec require(SpecResult result, String prefix) {
    return switch (result) {
      case SpecResult.Invalid(var problems) ->
          throw new AgentException.InvalidSpec(text(problems, prefix));
      case SpecResult.Valid(var spec, _, var notHonoured) -> {
        if (!notHonoured.isEmpty()) {
          throw new AgentException.Unsupported(text(notHonoured, prefix));
        }
        yield spec;
      }
    };
  }

  private static String onlyJob(String fileName, DeploymentSpec spec) {
    List<String> jobs =
        spec.services().entrySet().stream()
            .filter(entry -> entry.getValue().rtype() == RunType.JOB)
            .map(Map.Entry::getKey)
            .toList();
    return switch (jobs.size()) {
      case 1 -> jobs.getFirst();
      case 0 -> throw new AgentException.NotFound("job in " + fileName, "it has no rtype: job");
      default ->
          throw new AgentException.InvalidSpec(
              "%s has several jobs; name one with --job: %s"
                  .formatted(fileName, String.join(", ", jobs)));
    };
  }

  private static JobFile single(String fileName, String name, String path, DeploymentSpec spec) {
    ServiceSpec service = spec.services().get(name);
    if (service == null) {
      throw new AgentException.NotFound(
          "job '%s' in %s".formatted(name, fileName),
          "it has " + String.join(", ", spec.services().keySet()));
    }
    if (service.rtype() != RunType.JOB) {
      throw new AgentException.InvalidSpec(
          "%s: %srtype: '%s' is not a job; 'zlayer up' applies services and schedules"
              .formatted(fileName, path, name));
    }
    if (!service.job().needs().isEmpty()) {
      throw alone(fileName, path + "job.needs");
    }
    if (!service.lifecycle().depends().isEmpty()) {
      throw alone(fileName, path + "depends");
    }
    return new JobFile(name, service);
  }

  private static AgentException.InvalidSpec alone(String fileName, String path) {
    return new AgentException.InvalidSpec(
        "%s: %s: a job without a deployment cannot wait for others; use 'zlayer up' with a deployment file"
            .formatted(fileName, path));
  }

  /** The file as it would be within a deployment; positions stay those of the file. */
  private static Mapping wrapped(String name, Mapping job) {
    var keys = new LinkedHashMap<String, Entry>(job.members());
    keys.putIfAbsent("rtype", new Entry(scalar("rtype"), scalar("job")));
    Mapping service = new Mapping(job.position(), keys);
    Mapping services = new Mapping(Position.START, Map.of(name, new Entry(scalar(name), service)));
    var root = new LinkedHashMap<String, Entry>();
    root.put("version", new Entry(scalar("version"), scalar("v1")));
    root.put("deployment", new Entry(scalar("deployment"), scalar("job")));
    root.put("services", new Entry(scalar("services"), services));
    return new Mapping(Position.START, root);
  }

  private static Scalar scalar(String text) {
    return new Scalar(Position.START, text, ScalarKind.TEXT);
  }

  private static String nameOf(String fileName) {
    String base = fileName.substring(fileName.lastIndexOf('/') + 1);
    int dot = base.indexOf('.');
    return dot < 0 ? base : base.substring(0, dot);
  }

  private static void requireName(String name) {
    if (!NAME.matcher(name).matches()) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a name for a job; add --job with at most 63 letters, digits, hyphens and underscores"
              .formatted(name));
    }
  }

  private static String text(List<Problem> problems, String prefix) {
    return problems.stream()
        .map(problem -> shortened(problem, prefix).toString())
        .collect(Collectors.joining("\n"));
  }

  private static Problem shortened(Problem problem, String prefix) {
    return prefix.isEmpty() || !problem.path().startsWith(prefix)
        ? problem
        : new Problem(
            problem.file(),
            problem.line(),
            problem.column(),
            problem.path().substring(prefix.length()),
            problem.message());
  }
}
