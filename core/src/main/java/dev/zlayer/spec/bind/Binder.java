package dev.zlayer.spec.bind;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.bind.Shape.Block;
import dev.zlayer.spec.bind.Shape.Field;
import dev.zlayer.spec.bind.Shape.Union;
import dev.zlayer.spec.problem.Nearest;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.yaml.YamlNode;
import dev.zlayer.spec.yaml.YamlNode.Entry;
import dev.zlayer.spec.yaml.YamlNode.Mapping;
import dev.zlayer.spec.yaml.YamlNode.Scalar;
import dev.zlayer.spec.yaml.YamlNode.Sequence;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Makes records from a YAML tree and reports everything that does not fit.
 *
 * <p>A value is always returned, so that later checks can look at the rest of the file: what could
 * not be read is replaced by a stand-in of the right type. Whoever finds the problems not empty
 * must not use the records for anything else.
 */
public final class Binder {
  private final YamlNode root;
  private final Problems problems;
  private final Scalars scalars;

  public Binder(YamlNode root, Problems problems) {
    this.root = root;
    this.problems = problems;
    this.scalars = new Scalars(problems);
  }

  /** The whole file as one record. */
  public <T extends Record> T bind(Class<T> type) {
    return type.cast(bind(Shapes.of(type), root, SpecPath.ROOT));
  }

  Object bind(Shape shape, YamlNode node, SpecPath path) {
    // no switch: one over types is made at its first use, which takes a start of the daemon long
    if (shape instanceof Shape.Text text) {
      return scalars.text(text, node, path);
    } else if (shape instanceof Shape.Whole whole) {
      return scalars.whole(whole, node, path);
    } else if (shape instanceof Shape.Decimal decimal) {
      return scalars.decimal(decimal, node, path);
    } else if (shape instanceof Shape.Bool bool) {
      return scalars.bool(bool, node, path);
    } else if (shape instanceof Shape.Choice choice) {
      return scalars.choice(choice, node, path);
    } else if (shape instanceof Shape.Value value) {
      return scalars.value(value, node, path);
    } else if (shape instanceof Shape.ListOf list) {
      return list(list, node, path);
    } else if (shape instanceof Shape.MapOf map) {
      return map(map, node, path);
    } else if (shape instanceof Block block) {
      return block(block, node, path);
    }
    return union((Union) shape, node, path);
  }

  private Object list(Shape.ListOf shape, YamlNode node, SpecPath path) {
    if (!(node instanceof Sequence(_, var items))) {
      return scalars.mismatch(shape, node, path);
    }
    var values = new ArrayList<Object>();
    for (YamlNode item : items) {
      values.add(bind(shape.item(), item, path.index(values.size())));
    }
    if (items.isEmpty() && shape.notEmpty()) {
      problems.add(node.position(), path, "the list is empty, write at least one entry");
    }
    return List.copyOf(values);
  }

  private Object map(Shape.MapOf shape, YamlNode node, SpecPath path) {
    if (!(node instanceof Mapping mapping)) {
      return scalars.mismatch(shape, node, path);
    }
    var values = new LinkedHashMap<Object, Object>();
    for (Entry entry : mapping.entries()) {
      SpecPath child = path.key(entry.key().text());
      values.put(
          scalars.key(shape.key(), entry.key(), child), bind(shape.value(), entry.value(), child));
    }
    if (values.isEmpty() && shape.notEmpty()) {
      problems.add(node.position(), path, "the mapping is empty, write at least one entry");
    }
    return Collections.unmodifiableMap(values);
  }

  private Object block(Block block, YamlNode node, SpecPath path) {
    if (node instanceof Mapping mapping) {
      refuseUnknown(mapping, path, block, "");
      return construct(block, mapping, path);
    }
    if (block.shorthand().isPresent() && !node.isNull()) {
      return fromBareValue(block, block.shorthand().get().key(), node, path);
    }
    return scalars.mismatch(block, node, path);
  }

  private Object fromBareValue(Block block, String key, YamlNode node, SpecPath path) {
    var values = new ArrayList<Object>();
    for (Field field : block.fields()) {
      if (field.name().equals(key)) {
        Object value = bind(field.shape(), node, path);
        values.add(field.optional() ? Optional.of(value) : value);
      } else {
        values.add(Placeholders.absent(field));
      }
    }
    return Placeholders.construct(block, values);
  }

  private Object construct(Block block, Mapping mapping, SpecPath path) {
    var values = new ArrayList<Object>();
    for (Field field : block.fields()) {
      Object value = field.inline() ? inline(field, mapping, path) : member(field, mapping, path);
      values.add(value);
    }
    return Placeholders.construct(block, values);
  }

  private Object inline(Field field, Mapping mapping, SpecPath path) {
    return switch (field.shape()) {
      case Block block -> construct(block, mapping, path);
      case Union union -> choose(union, mapping, path);
      default -> throw new AgentException.Internal(field.name() + " cannot be inlined", null);
    };
  }

  private Object member(Field field, Mapping mapping, SpecPath path) {
    Optional<Entry> entry = written(field, mapping, path);
    if (entry.isPresent() && !entry.get().value().isNull()) {
      SpecPath child = path.key(entry.get().key().text());
      Object value = bind(field.shape(), entry.get().value(), child);
      return field.optional() ? Optional.of(value) : value;
    }
    if (field.required()) {
      SpecPath child = path.key(field.name());
      String what =
          field.shape() instanceof Shape.Text(var form)
              ? form.map(Shape.Form::write).orElse("text")
              : field.shape().describe();
      problems.add(root.locate(path), child, "is missing, write %s".formatted(what));
    }
    return Placeholders.absent(field);
  }

  /** The entry under the field's name or an older word for it; not under both. */
  private Optional<Entry> written(Field field, Mapping mapping, SpecPath path) {
    Optional<Entry> entry = mapping.find(field.name());
    for (String alias : field.aliases()) {
      Optional<Entry> older = mapping.find(alias);
      if (entry.isPresent() && older.isPresent()) {
        problems.add(
            older.get().key().position(),
            path.key(alias),
            "means the same as '%s', which is written too, remove one".formatted(field.name()));
      }
      entry = entry.or(() -> older);
    }
    return entry;
  }

  private Object union(Union union, YamlNode node, SpecPath path) {
    if (union.by().isEmpty()) {
      return named(union, node, path);
    }
    return node instanceof Mapping mapping
        ? choose(union, mapping, path)
        : scalars.mismatch(union, node, path);
  }

  /** A union whose variant is named by the value of a key. */
  private Object choose(Union union, Mapping mapping, SpecPath path) {
    SpecPath tagPath = path.key(union.by());
    Optional<Entry> tag = mapping.find(union.by()).filter(entry -> !entry.value().isNull());
    if (tag.isEmpty()) {
      String words = String.join(", ", union.variants().keySet());
      problems.add(root.locate(path), tagPath, "is missing, write one of: " + words);
      return Placeholders.in(union);
    }
    Block block = variant(union, tag.get().value(), tagPath);
    if (block == null) {
      return Placeholders.in(union);
    }
    if (union.content().isEmpty()) {
      refuseUnknown(mapping, path, block, union.by());
      return construct(block, mapping, path);
    }
    YamlNode content =
        mapping
            .find(union.content())
            .map(Entry::value)
            .filter(value -> !value.isNull())
            .orElseGet(() -> new Mapping(mapping.position(), Map.of()));
    return bind(block, content, path.key(union.content()));
  }

  /** A union written as the name of an empty variant, or as a mapping with the name as its key. */
  private Object named(Union union, YamlNode node, SpecPath path) {
    if (node instanceof Mapping mapping && mapping.members().size() == 1) {
      Entry only = mapping.entries().iterator().next();
      SpecPath child = path.key(only.key().text());
      Block block = variant(union, only.key(), child);
      return block == null ? Placeholders.in(union) : bind(block, only.value(), child);
    }
    if (!(node instanceof Scalar)) {
      return scalars.mismatch(union, node, path);
    }
    Block block = variant(union, node, path);
    return block == null
        ? Placeholders.in(union)
        : construct(block, new Mapping(node.position(), Map.of()), path);
  }

  private @org.jspecify.annotations.Nullable Block variant(
      Union union, YamlNode tag, SpecPath path) {
    String word = tag instanceof Scalar scalar ? scalar.text() : "";
    Block block = union.variants().get(word);
    if (block == null) {
      Set<String> known = union.variants().keySet();
      problems.add(
          tag.position(),
          path,
          tag instanceof Scalar
              ? "'%s' is not known%s".formatted(word, Nearest.hint(word, known))
              : "must be one of %s, not %s".formatted(String.join(", ", known), tag.kind()));
    }
    return block;
  }

  /** The tag is a further key beside those of the block. */
  private void refuseUnknown(Mapping mapping, SpecPath path, Block block, String tag) {
    for (Entry entry : mapping.entries()) {
      String key = entry.key().text();
      if (!block.knows(key) && !key.equals(tag)) {
        var keys = new ArrayList<String>(tag.isEmpty() ? List.of() : List.of(tag));
        keys.addAll(block.keys());
        problems.add(
            entry.key().position(), path.key(key), "unknown key" + ForeignKeywords.hint(key, keys));
      }
    }
  }
}
