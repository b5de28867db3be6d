package dev.zlayer.host.http;

import dev.zlayer.error.AgentException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Headers in the order they were sent; names in any case. */
public record HttpHeaders(List<Entry> entries) {
  public static final HttpHeaders NONE = new HttpHeaders(List.of());

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
    if (!name.matches("[!#$%&'*+.^_`|~0-9A-Za-z-]+")
        || value.chars().anyMatch(c -> c == '\r' || c == '\n' || c == 0 || c > 255)) {
      throw new AgentException.InvalidSpec("header '" + name + "' has characters it cannot have");
    }
    var more = new ArrayList<>(entries);
    more.add(new Entry(name, value));
    return new HttpHeaders(more);
  }

  public Optional<String> first(String name) {
    return all(name).stream().findFirst();
  }

  public List<String> all(String name) {
    return entries.stream()
        .filter(entry -> entry.name().equalsIgnoreCase(name))
        .map(Entry::value)
        .toList();
  }

  /** Whether one of the comma-separated words of a header is this one. */
  boolean says(String name, String word) {
    return all(name).stream()
        .flatMap(value -> java.util.Arrays.stream(value.split(",")))
        .anyMatch(part -> part.strip().equalsIgnoreCase(word));
  }
}
