package dev.zlayer.tar;

import dev.zlayer.tar.TarMember.TarTime;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** Records {@code length key=value\n} of a pax header; later ones win, an empty one unsets. */
final class PaxRecords {
  private static final String ATTRIBUTE = "SCHILY.xattr.";
  private static final byte[] EMPTY = {};

  private final Map<String, byte[]> values;
  private final List<Long> sparsePairs;

  private PaxRecords(Map<String, byte[]> values, List<Long> sparsePairs) {
    this.values = values;
    this.sparsePairs = sparsePairs;
  }

  static PaxRecords none() {
    return new PaxRecords(Map.of(), List.of());
  }

  static PaxRecords parse(byte[] body) throws TarException {
    Map<String, byte[]> values = new LinkedHashMap<>();
    List<Long> pairs = new ArrayList<>();
    for (int at = 0; at < body.length; ) {
      int space = indexOf(body, ' ', at);
      int length = space < 0 ? 0 : (int) decimal(text(body, at, space), "length");
      int end = at + length;
      int equals = indexOf(body, '=', space);
      if (length <= 0
          || length > body.length - at
          || equals < 0
          || equals >= end
          || body[end - 1] != '\n') {
        throw new TarException("", "pax header is malformed");
      }
      String key = text(body, space + 1, equals);
      byte[] value = Arrays.copyOfRange(body, equals + 1, end - 1);
      if (key.equals("GNU.sparse.offset") || key.equals("GNU.sparse.numbytes")) {
        pairs.add(decimal(text(value), key));
      } else {
        values.put(key, value);
      }
      at = end;
    }
    return new PaxRecords(values, pairs);
  }

  /** These over those of a global header. */
  PaxRecords over(PaxRecords global) {
    if (global.values.isEmpty()) {
      return this;
    }
    Map<String, byte[]> all = new LinkedHashMap<>(global.values);
    all.putAll(values);
    return new PaxRecords(all, sparsePairs);
  }

  /** Roughly the memory they take. */
  long bytes() {
    return values.entrySet().stream()
        .mapToLong(record -> record.getKey().length() + record.getValue().length)
        .sum();
  }

  Optional<String> string(String key) throws TarException {
    byte[] value = values.getOrDefault(key, EMPTY);
    if (value.length == 0) {
      return Optional.empty();
    }
    String text = text(value);
    if (text.indexOf('\0') >= 0) {
      throw new TarException(text, "pax record '" + key + "' has a zero byte");
    }
    return Optional.of(text);
  }

  OptionalLong number(String key) throws TarException {
    Optional<String> text = string(key);
    return text.isEmpty() ? OptionalLong.empty() : OptionalLong.of(decimal(text.get(), key));
  }

  /** A time with up to nine decimals that count; more are dropped. */
  Optional<TarTime> time(String key) throws TarException {
    Optional<String> text = string(key);
    return text.isEmpty() ? Optional.empty() : Optional.of(time(key, text.get()));
  }

  Map<String, byte[]> attributes() {
    Map<String, byte[]> found = new LinkedHashMap<>();
    values.forEach(
        (key, value) -> {
          if (key.startsWith(ATTRIBUTE) && key.length() > ATTRIBUTE.length()) {
            found.put(key.substring(ATTRIBUTE.length()), value);
          }
        });
    return found;
  }

  /** Offsets and lengths of a GNU sparse map in the pax formats 0.0 and 0.1; empty without. */
  List<Long> sparsePairs() throws TarException {
    Optional<String> map = string("GNU.sparse.map");
    if (map.isEmpty()) {
      return sparsePairs;
    }
    List<Long> pairs = new ArrayList<>();
    for (String number : map.get().split(",", -1)) {
      pairs.add(decimal(number, "GNU.sparse.map"));
    }
    return pairs;
  }

  boolean sparse() {
    return values.containsKey("GNU.sparse.size")
        || values.containsKey("GNU.sparse.realsize")
        || values.containsKey("GNU.sparse.map")
        || !sparsePairs.isEmpty();
  }

  /** The map stands at the start of the content (format 1.0). */
  boolean sparseMapInContent() throws TarException {
    return number("GNU.sparse.major").orElse(0) >= 1;
  }

  static long decimal(String text, String what) throws TarException {
    try {
      if (text.isEmpty()
          || text.length() > 19
          || !Character.isDigit(text.charAt(text.length() - 1))
          || text.charAt(0) == '+') {
        throw new NumberFormatException(text);
      }
      return Long.parseLong(text);
    } catch (NumberFormatException _) {
      throw new TarException("", "pax record '" + what + "' is not a number");
    }
  }

  private static TarTime time(String key, String text) throws TarException {
    int dot = text.indexOf('.');
    String whole = dot < 0 ? text : text.substring(0, dot);
    boolean negative = whole.startsWith("-");
    long seconds = whole.isEmpty() || whole.equals("-") ? 0 : decimal(whole, key);
    String fraction = dot < 0 ? "" : text.substring(dot + 1);
    if (!fraction.chars().allMatch(c -> c >= '0' && c <= '9')) {
      throw new TarException("", "pax record '" + key + "' is not a time");
    }
    int nanos = Integer.parseInt((fraction + "000000000").substring(0, 9));
    return negative && nanos > 0
        ? new TarTime(seconds - 1, 1_000_000_000 - nanos)
        : new TarTime(seconds, nanos);
  }

  private static int indexOf(byte[] body, char wanted, int from) {
    for (int i = Math.max(0, from); i < body.length; i++) {
      if (body[i] == wanted) {
        return i;
      }
    }
    return -1;
  }

  private static String text(byte[] bytes) {
    return text(bytes, 0, bytes.length);
  }

  private static String text(byte[] bytes, int from, int to) {
    return new String(bytes, from, to - from, StandardCharsets.ISO_8859_1);
  }
}
