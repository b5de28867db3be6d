package dev.zlayer.engine.state;

import java.util.List;

/**
 * A part of the event log.
 *
 * @param missed events after the asked number were dropped already: the reader has to look at the
 *     present state instead of relying on the events alone
 */
public record EventPage(List<Numbered> events, boolean missed) {
  public EventPage {
    events = List.copyOf(events);
  }

  /** An event with its place in the log. */
  public record Numbered(long sequence, Event event) {}

  /** Where to go on: the last number of this page, else {@code since}. */
  public long last(long since) {
    return events.isEmpty() ? since : events.getLast().sequence();
  }
}
