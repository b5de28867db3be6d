package dev.zlayer.spec.yaml;

import dev.zlayer.spec.problem.Position;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.yaml.YamlNode.Entry;
import dev.zlayer.spec.yaml.YamlNode.Mapping;
import dev.zlayer.spec.yaml.YamlNode.Scalar;
import dev.zlayer.spec.yaml.YamlNode.Sequence;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.snakeyaml.engine.v2.common.Anchor;
import org.snakeyaml.engine.v2.events.AliasEvent;
import org.snakeyaml.engine.v2.events.CollectionStartEvent;
import org.snakeyaml.engine.v2.events.Event;
import org.snakeyaml.engine.v2.events.NodeEvent;
import org.snakeyaml.engine.v2.events.ScalarEvent;

/**
 * Builds the tree from parser events. Depth and expanded size are bounded while building, so a
 * small file that stands for a huge tree is refused before anything walks it.
 */
final class Composer {
  private static final int MAX_DEPTH = 40;
  private static final int MAX_NODES = 50_000;

  /** Far more than one machine runs; keeps rules that compare all with all quick. */
  private static final int MAX_ENTRIES = 1_000;

  private static final String MERGE = "<<";

  /** Stops the reading of a file that breaks a limit. */
  static final class Refusal extends RuntimeException {
    private final Position position;
    private final String reason;

    Refusal(Position position, String reason) {
      super(reason, null, false, false);
      this.position = position;
      this.reason = reason;
    }

    Position position() {
      return position;
    }

    String reason() {
      return reason;
    }
  }

  private final Iterator<Event> events;
  private final Problems problems;
  private final Map<String, Optional<YamlNode>> anchors = new HashMap<>();
  private final IdentityHashMap<YamlNode, Integer> sizes = new IdentityHashMap<>();
  private int depth;

  Composer(Iterator<Event> events, Problems problems) {
    this.events = events;
    this.problems = problems;
  }

  YamlNode compose(Event event, SpecPath path) {
    if (event instanceof AliasEvent alias) {
      return resolve(alias);
    }
    Optional<String> anchor = ((NodeEvent) event).getAnchor().map(Anchor::getValue);
    // known but not finished: an alias to it from inside would be a loop
    anchor.ifPresent(name -> anchors.put(name, Optional.empty()));
    YamlNode node =
        switch (event) {
          case ScalarEvent scalar -> scalar(scalar, path);
          case CollectionStartEvent start -> collection(start, path);
          default -> throw new Refusal(YamlReader.position(event), "not YAML: a value is missing");
        };
    anchor.ifPresent(name -> anchors.put(name, Optional.of(node)));
    return node;
  }

  private YamlNode resolve(AliasEvent alias) {
    String name = alias.getAlias().getValue();
    Optional<YamlNode> target = anchors.get(name);
    if (target == null) {
      throw new Refusal(
          YamlReader.position(alias),
          "the alias *%s has no anchor, write &%s before its first use".formatted(name, name));
    }
    return target.orElseThrow(
        () ->
            new Refusal(
                YamlReader.position(alias),
                "the alias *%s is inside its own anchor; a value cannot contain itself"
                    .formatted(name)));
  }

  private YamlNode scalar(ScalarEvent event, SpecPath path) {
    Position position = YamlReader.position(event);
    String text = event.getValue();
    Optional<String> tag = event.getTag();
    if (tag.isEmpty()) {
      return event.isPlain() ? Scalar.plain(position, text) : Scalar.quoted(position, text);
    }
    return Tags.tagged(position, text, tag.get(), path, problems);
  }

  private YamlNode collection(CollectionStartEvent start, SpecPath path) {
    Position position = YamlReader.position(start);
    if (++depth > MAX_DEPTH) {
      throw new Refusal(position, "nested deeper than %d levels".formatted(MAX_DEPTH));
    }
    start.getTag().ifPresent(tag -> Tags.checkCollection(position, tag, path, problems));
    YamlNode node =
        start.getEventId() == Event.ID.SequenceStart
            ? sequence(position, path)
            : mapping(position, path);
    depth--;
    return node;
  }

  private YamlNode sequence(Position position, SpecPath path) {
    var items = new ArrayList<YamlNode>();
    int size = 1;
    for (Event event = events.next();
        event.getEventId() != Event.ID.SequenceEnd;
        event = events.next()) {
      YamlNode item = compose(event, path.index(items.size()));
      size = grow(size, item, position);
      items.add(item);
      checkCount(items.size(), position);
    }
    return sized(new Sequence(position, List.copyOf(items)), size);
  }

  private YamlNode mapping(Position position, SpecPath path) {
    var own = new LinkedHashMap<String, Entry>();
    var merged = new ArrayList<Mapping>();
    int merges = 0;
    int size = 1;
    for (Event event = events.next();
        event.getEventId() != Event.ID.MappingEnd;
        event = events.next()) {
      boolean plain = event instanceof ScalarEvent scalar && scalar.isPlain();
      Position keyPosition = YamlReader.position(event);
      YamlNode key = compose(event, path);
      SpecPath valuePath = key instanceof Scalar name ? path.key(name.text()) : path;
      YamlNode value = compose(events.next(), valuePath);
      size = grow(size, value, position);
      if (!(key instanceof Scalar name)) {
        problems.add(keyPosition, path, "a key must be text, not " + key.kind());
      } else if (plain && name.text().equals(MERGE)) {
        if (merges++ > 0) {
          problems.add(keyPosition, valuePath, "is written twice, write <<: [*one, *two]");
        }
        merged.addAll(mergeSources(value, valuePath));
      } else {
        addOwn(own, new Entry(name, value), valuePath);
        checkCount(own.size(), position);
      }
    }
    for (Mapping source : merged) {
      source.entries().forEach(entry -> own.putIfAbsent(entry.key().text(), entry));
    }
    checkCount(own.size(), position);
    return sized(new Mapping(position, own), size);
  }

  private void addOwn(Map<String, Entry> own, Entry entry, SpecPath path) {
    Entry first = own.putIfAbsent(entry.key().text(), entry);
    if (first != null) {
      problems.add(
          entry.key().position(),
          path,
          "the key is written twice, first on line %d, remove one"
              .formatted(first.key().position().line()));
    }
  }

  private List<Mapping> mergeSources(YamlNode value, SpecPath path) {
    List<YamlNode> sources = value instanceof Sequence(_, var items) ? items : List.of(value);
    var mappings = new ArrayList<Mapping>();
    for (YamlNode source : sources) {
      if (source instanceof Mapping mapping) {
        mappings.add(mapping);
      } else {
        problems.add(
            source.position(),
            path,
            "only a mapping can be merged, not %s, write <<: *anchor".formatted(source.kind()));
      }
    }
    return mappings;
  }

  private static void checkCount(int count, Position position) {
    if (count > MAX_ENTRIES) {
      throw new Refusal(position, "more than %d entries, split them".formatted(MAX_ENTRIES));
    }
  }

  /** The size with every alias written out; adding the sizes of parts can never overflow. */
  private int grow(int size, YamlNode part, Position position) {
    int grown = size + sizes.getOrDefault(part, 1);
    if (grown > MAX_NODES) {
      throw new Refusal(
          position, "more than %d values when all aliases are written out".formatted(MAX_NODES));
    }
    return grown;
  }

  private YamlNode sized(YamlNode node, int size) {
    sizes.put(node, size);
    return node;
  }
}
