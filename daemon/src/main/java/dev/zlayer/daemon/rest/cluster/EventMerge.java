package dev.zlayer.daemon.rest.cluster;

import dev.zlayer.json.Json;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Events of several sources in the order of their times; those of one source stay in their own
 * order, whatever its clock did. Pure.
 *
 * @param start how far it was in each source before these
 * @param next how far it has come
 * @param complete whether this was all that there is
 */
record EventMerge(
    List<Given> events, Map<String, Long> start, Map<String, Long> next, boolean complete) {
  EventMerge {
    events = List.copyOf(events);
    start = Map.copyOf(start);
    next = Map.copyOf(next);
  }

  /** An event with the id of its source. */
  record Given(String source, Json event) {}

  /**
   * What one source gave.
   *
   * @param id of the source
   * @param node as it is shown
   * @param next the number up to which this is all that was asked for
   * @param newest the number of the last event there is
   * @param missed whether some were dropped before
   */
  record Part(
      String id,
      String node,
      List<Json> events,
      long next,
      long newest,
      boolean missed,
      long oldest) {
    Part {
      events = List.copyOf(events);
    }

    /**
     * As nodes answer it, without what is no event, and never behind what was given: what one node
     * says must neither hide the events of others nor keep their readers for ever.
     */
    static Part of(String id, String node, Json page) {
      List<Json> events =
          page.at("events").items().stream()
              .filter(one -> one.at("seq").integer().filter(number -> number > 0).isPresent())
              .map(one -> ClusterStatus.on(node, one))
              .toList();
      long last = events.isEmpty() ? 0 : events.getLast().at("seq").integer().orElse(0L);
      return new Part(
          id,
          node,
          events,
          Math.max(last, page.at("next").integer().orElse(0L)),
          Math.max(last, page.at("newest").integer().orElse(0L)),
          page.at("missed").bool().orElse(false),
          page.at("oldest").integer().orElse(0L));
    }

    private Part from(int index) {
      return new Part(id, node, events.subList(index, events.size()), next, newest, missed, oldest);
    }

    private Optional<Instant> time(int index) {
      return index < events.size() ? Optional.of(time(events.get(index))) : Optional.empty();
    }

    private static Instant time(Json event) {
      try {
        return event.at("time").string().map(Instant::parse).orElse(Instant.EPOCH);
      } catch (DateTimeParseException _) {
        return Instant.EPOCH;
      }
    }

    private long number(int index) {
      return events.get(index).at("seq").integer().orElse(0L);
    }

    /** How far somebody has come who was given so many of these. */
    private long reached(int count) {
      if (count == events.size()) {
        return next;
      }
      return count == 0 ? number(0) - 1 : number(count - 1);
    }
  }

  /**
   * The first of them.
   *
   * @param limit at most so many
   * @param last only the newest so many
   */
  static EventMerge of(List<Part> parts, int limit, OptionalInt last) {
    List<Part> wanted = last.isPresent() ? newest(parts, last.getAsInt()) : parts;
    var given = new int[wanted.size()];
    var events = new ArrayList<Given>();
    while (events.size() < limit) {
      int first = first(wanted, given);
      if (first < 0) {
        break;
      }
      Part part = wanted.get(first);
      events.add(new Given(part.id(), part.events().get(given[first]++)));
      if (given[first] == part.events().size() && part.next() < part.newest()) {
        break; // its next ones may be earlier than what others have
      }
    }
    var start = new HashMap<String, Long>();
    var next = new HashMap<String, Long>();
    boolean complete = true;
    for (int i = 0; i < given.length; i++) {
      long reached = wanted.get(i).reached(given[i]);
      start.put(wanted.get(i).id(), wanted.get(i).reached(0));
      next.put(wanted.get(i).id(), reached);
      complete &= given[i] == wanted.get(i).events().size();
      complete &= reached >= wanted.get(i).newest() || wanted.get(i).events().isEmpty();
    }
    return new EventMerge(events, start, next, complete);
  }

  private static int first(List<Part> parts, int[] given) {
    int first = -1;
    Optional<Instant> earliest = Optional.empty();
    for (int i = 0; i < parts.size(); i++) {
      Optional<Instant> time = parts.get(i).time(given[i]);
      if (time.isPresent() && (earliest.isEmpty() || time.get().isBefore(earliest.get()))) {
        first = i;
        earliest = time;
      }
    }
    return first;
  }

  private static List<Part> newest(List<Part> parts, int count) {
    long surplus = parts.stream().mapToLong(part -> part.events().size()).sum() - count;
    var dropped = new int[parts.size()];
    for (long i = 0; i < surplus; i++) {
      dropped[first(parts, dropped)]++;
    }
    var rest = new ArrayList<Part>();
    for (int i = 0; i < parts.size(); i++) {
      rest.add(parts.get(i).from(dropped[i]));
    }
    return rest;
  }
}
