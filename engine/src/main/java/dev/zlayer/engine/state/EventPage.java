package dev.zlayer.engine.state;

import java.util.List;

/**
 * A part of the event log, as it was when it held the events from {@code oldest} to {@code newest}.
 *
 * @param since the number after which events were asked for
 * @param oldest one more than {@code newest} when the log is empty
 */
public record EventPage(List<Numbered> events, long since, long oldest, long newest) {
  public EventPage {
    events = List.copyOf(events);
  }

  /** An event with its place in the log. */
  public record Numbered(long sequence, Event event) {}

  /**
   * Whether the reader has to look at the present state instead of relying on the events alone:
   * some after the asked number were dropped already, or that number is none of this log, which was
   * replaced by an older one.
   */
  public boolean missed() {
    return since + 1 < oldest || since > newest;
  }

  /** The asked number, or the nearest one that this log can go on from. */
  public long from() {
    return Math.clamp(since, oldest - 1, newest);
  }

  /** Where to go on after this page. */
  public long last() {
    return events.isEmpty() ? from() : events.getLast().sequence();
  }
}
