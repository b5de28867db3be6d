package dev.zlayer.spec.compose;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.problem.Problem;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.yaml.YamlNode;
import dev.zlayer.spec.yaml.YamlReader;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;
import org.snakeyaml.engine.v2.common.FlowStyle;
import org.snakeyaml.engine.v2.schema.CoreSchema;

/** Converts a Compose file into a deployment file. */
public final class ComposeFile {
  private static final SpecPath SERVICES = SpecPath.ROOT.key("services");
  private static final int SHORTEST_NAME = 3;
  private static final int LONGEST_NAME = 63;

  private final Surroundings surroundings;
  private final Problems unsupported;
  private final Problems warnings;
  private final YamlNode.Mapping root;
  private final String deployment;

  /**
   * What a Compose file depends on besides its text.
   *
   * @param directory the name of its directory, which names the project where nothing else does
   * @param name the name of the deployment, if it was chosen
   * @param profiles whose services are included
   * @param variables the environment, for {@code ${NAME}}
   * @param files the content of a file that the Compose file names; nothing if it does not exist
   */
  public record Surroundings(
      String directory,
      Optional<String> name,
      Set<String> profiles,
      Map<String, String> variables,
      Files files) {}

  /** Reads files relative to the Compose file. */
  public interface Files {
    Optional<String> read(String path);
  }

  /**
   * The outcome.
   *
   * @param text a deployment file
   * @param unsupported what has no counterpart and is not in the text
   * @param warnings what is in the text with a difference, or needs a further step
   */
  public record Converted(
      String deployment, String text, List<Problem> unsupported, List<Problem> warnings) {}

  private ComposeFile(
      YamlNode.Mapping root, Surroundings surroundings, Problems unsupported, Problems warnings) {
    this.root = root;
    this.surroundings = surroundings;
    this.unsupported = unsupported;
    this.warnings = warnings;
    this.deployment = name();
  }

  /** Whether this is a Compose file rather than a deployment file; false for what is no YAML. */
  public static boolean recognised(byte[] content) {
    return YamlReader.read(content, new Problems(""))
        .filter(YamlNode.Mapping.class::isInstance)
        .map(YamlNode.Mapping.class::cast)
        .filter(node -> node.find("services").isPresent() && node.find("deployment").isEmpty())
        .filter(node -> node.find("version").map(ComposeFile::isNumber).orElse(true))
        .isPresent();
  }

  /** {@code version: v1} is ours; theirs is a number such as "3.8". */
  private static boolean isNumber(YamlNode.Entry version) {
    return version.value() instanceof YamlNode.Scalar scalar && !scalar.text().startsWith("v");
  }

  /**
   * Throws {@link AgentException.InvalidSpec} with every problem, one per line, when the text
   * cannot be read at all.
   */
  public static Converted convert(String file, byte[] content, Surroundings surroundings) {
    return convert(file, List.of(content), surroundings);
  }

  /** Of several files, merged by the rules of {@code extends}: later ones win, lists are joined. */
  public static Converted convert(String file, List<byte[]> contents, Surroundings surroundings) {
    var problems = new Problems(file);
    YamlNode.Mapping root = mapping(file, contents.getFirst(), problems);
    for (byte[] over : contents.subList(1, contents.size())) {
      root = Extension.merged(root, mapping(file, over, problems));
    }
    var warnings = new Problems(file);
    var compose = new ComposeFile(root, surroundings, problems, warnings);
    String text = compose.text();
    return new Converted(compose.deployment, text, problems.sorted(), warnings.sorted());
  }

  private static YamlNode.Mapping mapping(String file, byte[] content, Problems problems) {
    YamlNode node =
        YamlReader.read(content, problems)
            .orElseThrow(() -> new AgentException.InvalidSpec(lines(problems)));
    if (node instanceof YamlNode.Mapping mapping) {
      return mapping;
    }
    throw new AgentException.InvalidSpec(file + ": a Compose file is a mapping");
  }

  private static String lines(Problems problems) {
    return String.join("\n", problems.sorted().stream().map(Problem::toString).toList());
  }

  private String name() {
    Optional<String> given =
        surroundings
            .name()
            .or(
                () ->
                    root.find("name")
                        .map(YamlNode.Entry::value)
                        .filter(YamlNode.Scalar.class::isInstance)
                        .map(value -> ((YamlNode.Scalar) value).text()));
    Interpolation variables = new Interpolation(surroundings.variables());
    String raw = given.map(variables::apply).orElse(surroundings.directory());
    String name =
        raw.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9-]+", "-").replaceAll("^-+|-+$", "");
    name = name.length() < SHORTEST_NAME ? (name + "-app").replaceFirst("^-", "") : name;
    return name.length() > LONGEST_NAME ? name.substring(0, LONGEST_NAME) : name;
  }

  private String text() {
    for (YamlNode.Entry entry : root.entries()) {
      topLevel(entry.key().text(), entry.value());
    }
    var scope =
        new ComposeScope(
            deployment,
            new Interpolation(surroundings.variables()),
            surroundings,
            root,
            unsupported,
            warnings);
    Map<String, YamlNode.Mapping> services = services(scope);
    Set<String> jobs = completed(services);
    scope.checkNetworks(services);
    var converted = new LinkedHashMap<String, Object>();
    services.forEach(
        (name, node) ->
            converted.put(
                name, new ComposeService(scope, name, node, jobs.contains(name)).convert()));
    var file = new LinkedHashMap<String, Object>();
    file.put("version", "v1");
    file.put("deployment", deployment);
    file.put("services", converted);
    var settings =
        DumpSettings.builder()
            .setDefaultFlowStyle(FlowStyle.BLOCK)
            .setSchema(new CoreSchema()) // what the reader would take for a boolean is quoted
            .setWidth(LINE_WIDTH)
            .build();
    return new Dump(settings).dumpToString(file);
  }

  private static final int LINE_WIDTH = 120;

  private void topLevel(String key, YamlNode value) {
    switch (key) {
      case "name", "version", "services", "volumes", "networks", "secrets", "configs" -> {}
      case "include" ->
          unsupported.add(
              value.position(),
              SpecPath.ROOT.key(key),
              "other files are not included; convert each and join the results");
      default -> {
        if (!key.startsWith("x-")) {
          unsupported.add(value.position(), SpecPath.ROOT.key(key), "is not supported");
        }
      }
    }
  }

  /** Those of no profile or of an active one, with what they extend. */
  private Map<String, YamlNode.Mapping> services(ComposeScope scope) {
    var found = new LinkedHashMap<String, YamlNode.Mapping>();
    if (!(root.find("services").map(YamlNode.Entry::value).orElse(null)
        instanceof YamlNode.Mapping mapping)) {
      unsupported.add(root.position(), SERVICES, "there is no mapping of services");
      return found;
    }
    for (YamlNode.Entry entry : mapping.entries()) {
      String name = entry.key().text();
      SpecPath path = SERVICES.key(name);
      if (!(entry.value() instanceof YamlNode.Mapping)) {
        unsupported.add(entry.value().position(), path, "a service is a mapping");
        continue;
      }
      YamlNode.Mapping service = Extension.resolve(name, mapping, scope, new HashSet<>());
      if (active(service, scope)) {
        found.put(name, service);
      }
    }
    return found;
  }

  private boolean active(YamlNode.Mapping service, ComposeScope scope) {
    Optional<YamlNode> profiles = service.find("profiles").map(YamlNode.Entry::value);
    if (!(profiles.orElse(null) instanceof YamlNode.Sequence(_, var items)) || items.isEmpty()) {
      return true;
    }
    return items.stream().map(scope::text).anyMatch(surroundings.profiles()::contains);
  }

  /** Services that others wait for to complete are jobs here. */
  private static Set<String> completed(Map<String, YamlNode.Mapping> services) {
    var jobs = new LinkedHashSet<String>();
    for (YamlNode.Mapping service : services.values()) {
      if (service.find("depends_on").map(YamlNode.Entry::value).orElse(null)
          instanceof YamlNode.Mapping depends) {
        for (YamlNode.Entry entry : depends.entries()) {
          if (entry.value() instanceof YamlNode.Mapping one
              && one.find("condition")
                  .map(YamlNode.Entry::value)
                  .filter(
                      value ->
                          value instanceof YamlNode.Scalar scalar
                              && scalar.text().equals("service_completed_successfully"))
                  .isPresent()) {
            jobs.add(entry.key().text());
          }
        }
      }
    }
    return jobs;
  }
}
