package dev.zlayer.host.http;

import dev.zlayer.error.AgentException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Headers in the order they were sent; names in any case. */
public record HttpHeaders(List<Entry> entries) {
  public static final HttpHeaders NONE = new HttpHeaders(List.of());

  private static final String MARKS = "!#$%&'*+.^_`|~-";

  /** One header line. */
  public record Entry(String name, String value) {}

  public HttpHeaders {
    entries = List.copyOf(entries);
  }

  public static HttpHeaders of(String name, String value) {
    return NONE.with(name, value);
  }

  /** These and one more; what could not be sent as one line is refused. */
  public HttpHeaders with(String name, String value) {
    if (!token(name) || !line(value)) {
      throw new AgentException.InvalidSpec("header '" + name + "' has characters it cannot have");
    }
    var more = new ArrayList<>(entries);
    more.add(new Entry(name, value));
    return new HttpHeaders(more);
  }

  // no patterns and streams here: a short command would spend most of its own time on getting them
  // ready

  /** Whether it can be the name of a header. */
  static boolean token(String text) {
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      boolean letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (!letter && !(c >= '0' && c <= '9') && MARKS.indexOf(c) < 0) {
        return false;
      }
    }
    return !text.isEmpty();
  }

  private static boolean line(String value) {
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (c == '\r' || c == '\n' || c == 0 || c > 255) {
        return false;
      }
    }
    return true;
  }

  public Optional<String> first(String name) {
    for (Entry entry : entries) {
      if (entry.name().equalsIgnoreCase(name)) {
        return Optional.of(entry.value());
      }
    }
    return Optional.empty();
  }

  public List<String> all(String name) {
    var values = new ArrayList<String>();
    for (Entry entry : entries) {
      if (entry.name().equalsIgnoreCase(name)) {
        values.add(entry.value());
      }
    }
    return List.copyOf(values);
  }

  /** Whether one of the comma-separated words of a header is this one. */
  boolean says(String name, String word) {
    for (String value : all(name)) {
      for (String part : value.split(",", -1)) {
        if (part.strip().equalsIgnoreCase(word)) {
          return true;
        }
      }
    }
    return false;
  }
}
