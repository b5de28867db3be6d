package dev.zlayer.spec.source;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.compose.Interpolation;
import dev.zlayer.spec.problem.Problem;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.read.SpecReader;
import dev.zlayer.spec.read.SpecResult;
import dev.zlayer.spec.yaml.YamlNode;
import dev.zlayer.spec.yaml.YamlReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** One deployment file out of several, with variables and profiles. */
public final class SourceFiles {
  private static final String PROFILES = "profiles";
  private static final String SERVICES = "services";

  /** What belongs to a shell inside the container, which has variables of its own. */
  private static final Set<String> OF_SHELLS = Set.of("command", "args", "entrypoint");

  private final Problems problems;
  private final Interpolation variables;

  private SourceFiles(Problems problems, Map<String, String> variables) {
    this.problems = problems;
    this.variables = new Interpolation(variables);
  }

  /** A file as it was written; its name is used in problems. */
  @SuppressWarnings("ArrayRecordComponent") // bytes to read, never compared
  public record Source(String name, byte[] content) {}

  /**
   * The file that is applied.
   *
   * @param text as the agent gets it
   * @param root the same with the places of the files that it was made of; empty when the text is
   *     one file as it was written
   */
  @SuppressWarnings("ArrayRecordComponent") // bytes to send, never compared
  public record Resolved(String name, byte[] text, Optional<YamlNode> root) {
    public SpecResult check() {
      return root.map(tree -> SpecReader.read(name, tree))
          .orElseGet(() -> SpecReader.read(name, text));
    }
  }

  /**
   * Merges files, of which later ones win, replaces variables and leaves services out. A single
   * file without variables and profiles stays as it is.
   *
   * @param variables for {@code ${NAME}}
   * @throws AgentException.InvalidSpec with every problem, one per line
   */
  public static Resolved resolve(
      List<Source> sources, Map<String, String> variables, Set<String> profiles) {
    String name = sources.stream().map(Source::name).collect(Collectors.joining(" + "));
    if (sources.size() == 1 && plain(sources.getFirst().content())) {
      return new Resolved(name, sources.getFirst().content(), Optional.empty());
    }
    Optional<YamlNode> result = Optional.empty();
    var found = new ArrayList<Problem>();
    for (Source source : sources) {
      var problems = new Problems(source.name());
      Optional<YamlNode> root =
          YamlReader.read(source.content(), problems)
              .map(node -> new SourceFiles(problems, variables).replaced(node, SpecPath.ROOT));
      if (root.isPresent()) {
        result = result.map(below -> merged(below, root.get())).or(() -> root);
      }
      found.addAll(problems.sorted());
    }
    if (!found.isEmpty() || result.isEmpty()) {
      throw new AgentException.InvalidSpec(
          found.stream().map(Problem::toString).collect(Collectors.joining("\n"))
              + "\nnothing was changed");
    }
    YamlNode root = active(result.get(), profiles);
    return new Resolved(
        name, YamlWriter.write(root).getBytes(StandardCharsets.UTF_8), Optional.of(root));
  }

  /** Whether nothing in it could be a variable or a profile. */
  private static boolean plain(byte[] content) {
    String text = new String(content, StandardCharsets.UTF_8);
    return !text.contains("${") && !text.contains(PROFILES);
  }

  private YamlNode replaced(YamlNode node, SpecPath path) {
    return switch (node) {
      case YamlNode.Scalar scalar -> replaced(scalar, path);
      case YamlNode.Sequence(var position, var items) -> {
        var changed = new ArrayList<YamlNode>();
        for (int i = 0; i < items.size(); i++) {
          changed.add(replaced(items.get(i), path.index(i)));
        }
        yield new YamlNode.Sequence(position, changed);
      }
      case YamlNode.Mapping mapping -> {
        var members = new LinkedHashMap<String, YamlNode.Entry>();
        mapping
            .members()
            .forEach(
                (key, entry) ->
                    members.put(
                        key,
                        OF_SHELLS.contains(key)
                            ? entry
                            : new YamlNode.Entry(
                                entry.key(), replaced(entry.value(), path.key(key)))));
        yield new YamlNode.Mapping(mapping.position(), members);
      }
    };
  }

  private YamlNode.Scalar replaced(YamlNode.Scalar scalar, SpecPath path) {
    if (!scalar.text().contains("${")) {
      return scalar;
    }
    try {
      return scalar.replaced(variables.braced(scalar.text()));
    } catch (AgentException.InvalidSpec e) {
      problems.add(scalar.position(), path, String.valueOf(e.getMessage()));
      return scalar;
    }
  }

  /** Mappings by key, everything else as the later file has it; nothing takes a key out. */
  private static YamlNode merged(YamlNode below, YamlNode above) {
    if (!(below instanceof YamlNode.Mapping one) || !(above instanceof YamlNode.Mapping two)) {
      return above;
    }
    var members = new LinkedHashMap<>(one.members());
    for (YamlNode.Entry entry : two.entries()) {
      String key = entry.key().text();
      YamlNode.Entry before = members.get(key);
      if (entry.value().isNull()) {
        members.remove(key);
      } else if (before == null) {
        members.put(key, entry);
      } else {
        members.put(key, new YamlNode.Entry(before.key(), merged(before.value(), entry.value())));
      }
    }
    return new YamlNode.Mapping(one.position(), members);
  }

  /** Without the services of other profiles, and without the key itself. */
  private static YamlNode active(YamlNode root, Set<String> profiles) {
    if (!(root instanceof YamlNode.Mapping file)
        || !(file.find(SERVICES).map(YamlNode.Entry::value).orElse(null)
            instanceof YamlNode.Mapping services)) {
      return root;
    }
    var kept = new LinkedHashMap<String, YamlNode.Entry>();
    for (YamlNode.Entry entry : services.entries()) {
      if (!(entry.value() instanceof YamlNode.Mapping service)) {
        kept.put(entry.key().text(), entry);
      } else if (active(service, profiles)) {
        var members = new LinkedHashMap<>(service.members());
        members.remove(PROFILES);
        kept.put(
            entry.key().text(),
            new YamlNode.Entry(entry.key(), new YamlNode.Mapping(service.position(), members)));
      }
    }
    var members = new LinkedHashMap<>(file.members());
    members.computeIfPresent(
        SERVICES,
        (_, entry) ->
            new YamlNode.Entry(entry.key(), new YamlNode.Mapping(services.position(), kept)));
    return new YamlNode.Mapping(file.position(), members);
  }

  private static boolean active(YamlNode.Mapping service, Set<String> profiles) {
    Optional<YamlNode> found = service.find(PROFILES).map(YamlNode.Entry::value);
    if (found.isEmpty()) {
      return true;
    }
    YamlNode listed = found.get();
    if (!(listed instanceof YamlNode.Sequence(_, var items))) {
      throw new AgentException.InvalidSpec(
          "line %d: profiles is a list of names, not %s"
              .formatted(listed.position().line(), listed.kind()));
    }
    return items.isEmpty()
        || items.stream()
            .anyMatch(
                item -> item instanceof YamlNode.Scalar scalar && profiles.contains(scalar.text()));
  }
}
