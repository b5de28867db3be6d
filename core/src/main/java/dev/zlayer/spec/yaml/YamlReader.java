package dev.zlayer.spec.yaml;

import dev.zlayer.spec.problem.Position;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.problem.SpecPath;
import java.util.Iterator;
import java.util.Optional;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.api.lowlevel.Parse;
import org.snakeyaml.engine.v2.events.Event;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;

/** Reads one YAML document; everything that is not one well-formed document is a problem. */
public final class YamlReader {
  private YamlReader() {}

  /** The tree, or nothing when the text has no usable one; the problems then say why. */
  public static Optional<YamlNode> read(byte[] content, Problems problems) {
    return YamlText.decode(content, problems).flatMap(text -> read(text, problems));
  }

  public static Optional<YamlNode> read(String text, Problems problems) {
    LoadSettings settings =
        LoadSettings.builder().setCodePointLimit(YamlText.MAX_BYTES + 1).build();
    try {
      Iterator<Event> events = new Parse(settings).parseString(text).iterator();
      return document(events, new Composer(events, problems), problems);
    } catch (Composer.Refusal e) {
      problems.add(e.position(), SpecPath.ROOT, e.reason());
    } catch (MarkedYamlEngineException e) {
      Position position =
          e.getProblemMark().or(e::getContextMark).map(YamlReader::position).orElse(Position.START);
      problems.add(position, SpecPath.ROOT, "not YAML: " + e.getProblem());
    } catch (YamlEngineException e) {
      problems.add(Position.START, SpecPath.ROOT, "not YAML: " + e.getMessage());
    }
    return Optional.empty();
  }

  private static Optional<YamlNode> document(
      Iterator<Event> events, Composer composer, Problems problems) {
    events.next(); // start of the stream
    if (events.next().getEventId() == Event.ID.StreamEnd) {
      problems.add(Position.START, SpecPath.ROOT, "the file is empty, begin with 'version: v1'");
      return Optional.empty();
    }
    YamlNode root = composer.compose(events.next(), SpecPath.ROOT);
    events.next(); // end of the document
    Event after = events.next();
    if (after.getEventId() != Event.ID.StreamEnd) {
      problems.add(
          position(after),
          SpecPath.ROOT,
          "a second document begins here, write one deployment per file");
    }
    return Optional.of(root);
  }

  static Position position(Event event) {
    return event.getStartMark().map(YamlReader::position).orElse(Position.START);
  }

  private static Position position(Mark mark) {
    return new Position(mark.getLine() + 1, mark.getColumn() + 1);
  }
}
