package dev.zlayer.json;

import java.util.LinkedHashMap;

/**
 * What became different in a record, as a tree of only the members that did. One that is absent now
 * is written as null, since leaving it out means that it stayed as it was.
 */
public final class RecordChanges {
  private RecordChanges() {}

  /** Has no members when the two are equal. */
  public static <R extends Record> Json.Obj between(R before, R after) {
    var members = new LinkedHashMap<String, Json>();
    for (RecordShape.Component component : RecordShape.of(after.getClass()).components()) {
      Object value = component.of(after);
      if (!value.equals(component.of(before))) {
        members.put(component.name(), RecordJson.write(value));
      }
    }
    return new Json.Obj(members);
  }

  /** The tree of a record as it is after the changes. */
  public static Json.Obj over(Json.Obj whole, Json.Obj changes) {
    var members = new LinkedHashMap<>(whole.members());
    changes
        .members()
        .forEach(
            (name, value) -> {
              if (value.isNull()) {
                members.remove(name);
              } else {
                members.put(name, value);
              }
            });
    return new Json.Obj(members);
  }
}
