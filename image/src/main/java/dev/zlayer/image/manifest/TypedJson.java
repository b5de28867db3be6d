package dev.zlayer.image.manifest;

import dev.zlayer.json.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A value of an image configuration with its path. Absent and null are the same; a value of another
 * type than the one asked for is refused, because an ignored user or entrypoint would run something
 * else than the image says.
 */
record TypedJson(String path, Json value) {
  TypedJson at(String name) {
    return new TypedJson(path.isEmpty() ? name : path + "." + name, value.at(name));
  }

  /** Empty text counts as absent. */
  Optional<String> text() throws InvalidImageException {
    require(value.string().isPresent(), "text");
    return value.string().filter(text -> !text.isEmpty());
  }

  Optional<Boolean> bool() throws InvalidImageException {
    require(value.bool().isPresent(), "true or false");
    return value.bool();
  }

  List<TypedJson> items() throws InvalidImageException {
    require(value instanceof Json.Arr, "a list");
    var result = new ArrayList<TypedJson>();
    for (Json item : value.items()) {
      result.add(new TypedJson("%s[%d]".formatted(path, result.size()), item));
    }
    return result;
  }

  List<String> texts() throws InvalidImageException {
    var result = new ArrayList<String>();
    for (TypedJson item : items()) {
      result.add(item.required());
    }
    return result;
  }

  Map<String, Json> object() throws InvalidImageException {
    require(value instanceof Json.Obj, "an object");
    return value.members();
  }

  Map<String, String> textMap() throws InvalidImageException {
    var result = new LinkedHashMap<String, String>();
    for (String name : object().keySet()) {
      result.put(name, at(name).required());
    }
    return result;
  }

  private String required() throws InvalidImageException {
    return value.string().orElseThrow(() -> wrong("text"));
  }

  private void require(boolean right, String type) throws InvalidImageException {
    if (!right && !value.isNull()) {
      throw wrong(type);
    }
  }

  private InvalidImageException wrong(String type) {
    String found =
        switch (value) {
          case Json.Obj _ -> "an object";
          case Json.Arr _ -> "a list";
          case Json.Str _ -> "text";
          case Json.Num(var number) -> "the number " + number;
          case Json.Bool(var bool) -> "the word " + bool;
          case Json.Null _ -> "null";
        };
    String where = path.isEmpty() ? "the image configuration" : "image configuration: " + path;
    return new InvalidImageException("%s has to be %s, but is %s".formatted(where, type, found));
  }
}
