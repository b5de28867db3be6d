package dev.zlayer.daemon.http;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/**
 * Finds the route of a request. A literal segment is stronger than a variable; a variable that ends
 * in an asterisk stands for one segment or more. Pure.
 */
public final class Router {
  public static final String PREFIX = "/api/v1";

  private final List<Entry> entries = new ArrayList<>();

  private record Entry(Route route, List<String> segments) {}

  /** A route and what its variables stand for. */
  public record Match(Route route, Map<String, String> variables) {}

  public Router(List<Route> routes) {
    this(PREFIX, routes);
  }

  /** With another beginning of all paths. */
  public Router(String prefix, List<Route> routes) {
    for (Route route : routes) {
      entries.add(new Entry(route, segments(prefix + route.template())));
    }
    // literal words before variables, so that /images/pull is never an image
    entries.sort(
        Comparator.<Entry>comparingInt(entry -> variables(entry.segments()))
            .thenComparing(entry -> entry.segments().size(), Comparator.reverseOrder()));
  }

  public List<Route> routes() {
    return entries.stream().map(Entry::route).toList();
  }

  /** Throws {@link AccessDenied} when nothing is there or the method is another one. */
  public Match find(String method, List<String> path) {
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
    int at = 0;
    for (int i = 0; i < template.size(); i++) {
      String segment = template.get(i);
      if (at >= path.size()) {
        return Optional.empty();
      }
      if (segment.endsWith("*}")) {
        int end = path.size() - (template.size() - 1 - i);
        if (end <= at) {
          return Optional.empty();
        }
        variables.put(
            segment.substring(1, segment.length() - 2), String.join("/", path.subList(at, end)));
        at = end;
      } else if (segment.startsWith("{")) {
        if (path.get(at).isEmpty()) {
          return Optional.empty();
        }
        variables.put(segment.substring(1, segment.length() - 1), path.get(at++));
      } else if (!segment.equals(path.get(at++))) {
        return Optional.empty();
      }
    }
    return at == path.size() ? Optional.of(variables) : Optional.empty();
  }

  private static int variables(List<String> segments) {
    return (int) segments.stream().filter(segment -> segment.startsWith("{")).count();
  }

  public static List<String> segments(String path) {
    return List.of((path.startsWith("/") ? path.substring(1) : path).split("/", -1));
  }
}
