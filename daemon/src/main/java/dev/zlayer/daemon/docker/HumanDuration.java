package dev.zlayer.daemon.docker;

import java.time.Duration;

/** How long something lasts, as listings of Docker word it. Pure. */
final class HumanDuration {
  private HumanDuration() {}

  static String of(Duration duration) {
    long seconds = Math.max(0, duration.toSeconds());
    long minutes = seconds / 60;
    long hours = Math.round(seconds / 3600.0);
    if (seconds < 1) {
      return "Less than a second";
    }
    if (seconds == 1) {
      return "1 second";
    }
    if (seconds < 60) {
      return seconds + " seconds";
    }
    if (minutes == 1) {
      return "About a minute";
    }
    if (minutes < 60) {
      return minutes + " minutes";
    }
    if (hours == 1) {
      return "About an hour";
    }
    if (hours < 48) {
      return hours + " hours";
    }
    if (hours < 24 * 7 * 2) {
      return hours / 24 + " days";
    }
    if (hours < 24 * 30 * 2) {
      return hours / 24 / 7 + " weeks";
    }
    if (hours < 24 * 365 * 2) {
      return hours / 24 / 30 + " months";
    }
    return hours / 24 / 365 + " years";
  }
}
