package dev.zlayer.daemon.rest.cluster;

import dev.zlayer.error.AgentException;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * How far a reader has come in the events of a cluster, which it gives back to continue. Pure.
 *
 * @param numbers of the last event of each source, by the id of its node
 */
record EventPositions(Map<String, Long> numbers) {
  /** The source of what concerns all nodes; no id of a node. */
  static final String CLUSTER = "cluster";

  static final EventPositions NONE = new EventPositions(Map.of());

  /** It takes back no part of the list, which would need a deep stack for a long one. */
  private static final Pattern TOKEN =
      Pattern.compile("[a-z0-9-]{1,64}:\\d{1,18}(?:,[a-z0-9-]{1,64}:\\d{1,18})*+");

  EventPositions {
    numbers = Map.copyOf(numbers);
  }

  /** Whether it is a place in the events of one node, as nodes that are in no cluster have it. */
  static boolean single(String text) {
    return text.matches("-?\\d+");
  }

  static EventPositions parse(String text) {
    if (!TOKEN.matcher(text).matches()) {
      throw new AgentException.InvalidSpec(
          "'%s' is neither the number of an event nor what an earlier answer had as resume"
              .formatted(text));
    }
    var numbers = new TreeMap<String, Long>();
    for (String part : text.split(",", -1)) {
      int colon = part.indexOf(':');
      numbers.put(part.substring(0, colon), Long.parseLong(part.substring(colon + 1)));
    }
    return new EventPositions(numbers);
  }

  OptionalLong find(String source) {
    Long number = numbers.get(source);
    return number == null ? OptionalLong.empty() : OptionalLong.of(number);
  }

  EventPositions with(String source, long number) {
    var next = new TreeMap<>(numbers);
    next.put(source, number);
    return new EventPositions(next);
  }

  EventPositions with(Map<String, Long> others) {
    var next = new TreeMap<>(numbers);
    next.putAll(others);
    return new EventPositions(next);
  }

  String text() {
    return numbers.isEmpty()
        ? CLUSTER + ":0"
        : new TreeMap<>(numbers)
            .entrySet().stream()
                .map(one -> one.getKey() + ":" + one.getValue())
                .collect(Collectors.joining(","));
  }
}
