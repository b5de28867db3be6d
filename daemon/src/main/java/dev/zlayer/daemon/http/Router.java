package dev.zlayer.daemon.http;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/** Finds the route of a request. A literal segment is stronger than a variable. Pure. */
public final class Router {
  public static final String PREFIX = "/api/v1";

  private final List<Entry> entries = new ArrayList<>();

  private record Entry(Route route, List<String> segments) {}

  /** A route and what its variables stand for. */
  record Match(Route route, Map<String, String> variables) {}

  public Router(List<Route> routes) {
    for (Route route : routes) {
      entries.add(new Entry(route, segments(PREFIX + route.template())));
    }
    // literal words before variables, so that /images/pull is never an image
    entries.sort(
        (one, other) -> Integer.compare(variables(one.segments()), variables(other.segments())));
  }

  public List<Route> routes() {
    return entries.stream().map(Entry::route).toList();
  }

  /** Throws {@link AccessDenied} when nothing is there or the method is another one. */
  Match find(String method, List<String> path) {
    var others = new TreeSet<String>();
    for (Entry entry : entries) {
      Optional<Map<String, String>> variables = match(entry.segments(), path);
      if (variables.isPresent()) {
        if (entry.route().method().equals(method)) {
          return new Match(entry.route(), variables.get());
        }
        others.add(entry.route().method());
      }
    }
    String shown = "/" + String.join("/", path);
    throw others.isEmpty()
        ? AccessDenied.noRoute(shown)
        : AccessDenied.wrongMethod(method, shown, String.join(", ", others));
  }

  private static Optional<Map<String, String>> match(List<String> template, List<String> path) {
    var variables = new HashMap<String, String>();
    for (int i = 0; i < template.size(); i++) {
      String segment = template.get(i);
      if (segment.endsWith("*}")) {
        if (i >= path.size()) {
          return Optional.empty();
        }
        variables.put(
            segment.substring(1, segment.length() - 2),
            String.join("/", path.subList(i, path.size())));
        return Optional.of(variables);
      }
      if (i >= path.size()) {
        return Optional.empty();
      }
      if (segment.startsWith("{")) {
        if (path.get(i).isEmpty()) {
          return Optional.empty();
        }
        variables.put(segment.substring(1, segment.length() - 1), path.get(i));
      } else if (!segment.equals(path.get(i))) {
        return Optional.empty();
      }
    }
    return template.size() == path.size() ? Optional.of(variables) : Optional.empty();
  }

  private static int variables(List<String> segments) {
    return (int) segments.stream().filter(segment -> segment.startsWith("{")).count();
  }

  static List<String> segments(String path) {
    return List.of((path.startsWith("/") ? path.substring(1) : path).split("/", -1));
  }
}
