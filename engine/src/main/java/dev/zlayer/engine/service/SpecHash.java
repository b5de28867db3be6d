package dev.zlayer.engine.service;

import dev.zlayer.engine.translate.ReplicaSettings;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.json.RecordJson;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.TreeMap;

/**
 * A short text that differs when records differ. Members are put in order first, since maps come in
 * any order.
 */
public final class SpecHash {
  private static final int LENGTH = 24;

  private SpecHash() {}

  public static String of(String salt, Object... values) {
    try {
      var sha = MessageDigest.getInstance("SHA-256");
      sha.update(salt.getBytes(StandardCharsets.UTF_8));
      for (Object value : values) {
        sha.update((byte) 0);
        sha.update(JsonText.bytes(ordered(RecordJson.write(value))));
      }
      return HexFormat.of().formatHex(sha.digest()).substring(0, LENGTH);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  /** Differs when what replicas have of their own differs; empty when they have nothing. */
  static String mark(ReplicaSettings settings) {
    return settings.equals(ReplicaSettings.NONE) ? "" : "-" + of("", settings);
  }

  private static Json ordered(Json json) {
    return switch (json) {
      case Json.Obj(var members) -> {
        var sorted = new TreeMap<String, Json>();
        members.forEach((name, value) -> sorted.put(name, ordered(value)));
        yield new Json.Obj(sorted);
      }
      case Json.Arr(var items) -> new Json.Arr(items.stream().map(SpecHash::ordered).toList());
      case Json.Str _, Json.Num _, Json.Bool _, Json.Null _ -> json;
    };
  }
}
