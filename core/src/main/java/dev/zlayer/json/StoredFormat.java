package dev.zlayer.json;

import dev.zlayer.error.AgentException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * The versions of one kind of stored object. An object of an earlier version is migrated, one
 * version after the other; every version that was ever released stays readable, and an example of
 * each lies among the tests. One of a later version is refused and left as it is. Pure.
 *
 * @param what names it in messages, such as {@code the image index}
 * @param steps from version 1 to 2, from 2 to 3 ...
 * @param unmarked whether an object without a version is one of version 1
 */
public record StoredFormat(String what, List<UnaryOperator<Json.Obj>> steps, boolean unmarked) {
  private static final String MEMBER = "version";

  public StoredFormat {
    steps = List.copyOf(steps);
  }

  @SafeVarargs
  public static StoredFormat of(String what, UnaryOperator<Json.Obj>... steps) {
    var list = new ArrayList<UnaryOperator<Json.Obj>>();
    for (UnaryOperator<Json.Obj> step : steps) {
      list.add(step);
    }
    return new StoredFormat(what, list, false);
  }

  /** As {@link #of}, for what was written without a version at first. */
  @SafeVarargs
  public static StoredFormat unmarked(String what, UnaryOperator<Json.Obj>... steps) {
    return new StoredFormat(what, of(what, steps).steps(), true);
  }

  /** The one that is written. */
  public int version() {
    return steps.size() + 1;
  }

  /** Begins an object of this version. */
  public Json.Builder begin() {
    return Json.object().put(MEMBER, version());
  }

  /**
   * The object as the current version has it.
   *
   * @param place where it is stored, for messages
   * @throws AgentException.Configuration only a later program can read it
   * @throws AgentException.InvalidSpec it is not an object with a version
   */
  public Json.Obj upgrade(Json json, Object place) {
    if (!(json instanceof Json.Obj found)) {
      throw new AgentException.InvalidSpec("%s in %s is not an object".formatted(what, place));
    }
    long from = found.at(MEMBER).integer().orElse(unmarked ? 1L : 0L);
    if (from < 1) {
      throw new AgentException.InvalidSpec("%s in %s has no version".formatted(what, place));
    }
    if (from > version()) {
      throw new AgentException.Configuration(
          "%s in %s has version %d and this program reads versions up to %d: use the version of zlayer that wrote it, or a later one"
              .formatted(what, place, from, version()));
    }
    Json.Obj upgraded = found;
    for (UnaryOperator<Json.Obj> step : steps.subList((int) from - 1, steps.size())) {
      upgraded = step.apply(upgraded);
    }
    var members = new LinkedHashMap<>(upgraded.members());
    members.put(MEMBER, Json.of(version()));
    return new Json.Obj(members);
  }

  /** Whether only a later program can read it. */
  public boolean later(Json json) {
    return json.at(MEMBER).integer().orElse(0L) > version();
  }
}
