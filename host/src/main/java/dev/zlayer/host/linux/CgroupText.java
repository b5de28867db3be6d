package dev.zlayer.host.linux;

import java.util.OptionalLong;

/** Reads the small texts in control group files. What is not there counts as zero or none. */
final class CgroupText {
  /** Version 1 says "no limit" with the largest multiple of a page that fits. */
  private static final long UNLIMITED = Long.MAX_VALUE - (1 << 20);

  private CgroupText() {}

  static long number(String text) {
    return parse(text.strip()).orElse(0);
  }

  /** A limit, or none when it says {@code max} or a number too large to be meant. */
  static OptionalLong limit(String text) {
    OptionalLong value = parse(text.strip());
    return value.isPresent() && value.getAsLong() < UNLIMITED ? value : OptionalLong.empty();
  }

  /** The number after a key, as in {@code memory.stat}: a pair on each line. */
  static long keyed(String text, String key) {
    return text.lines()
        .filter(line -> line.startsWith(key + " "))
        .mapToLong(line -> number(line.substring(key.length() + 1)))
        .findFirst()
        .orElse(0);
  }

  /** Version 1: {@code 8:0 Read 4096}, summed over the devices. */
  static long blockBytes(String text, String operation) {
    String wanted = " " + operation + " ";
    return text.lines()
        .filter(line -> line.contains(wanted))
        .mapToLong(line -> number(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  /** Version 2: {@code 8:0 rbytes=4096 wbytes=0 ...}, summed over the devices. */
  static long ioBytes(String text, String key) {
    long sum = 0;
    for (String line : text.split("\n", -1)) {
      int at = line.indexOf(" " + key + "=");
      if (at >= 0) {
        int from = at + key.length() + 2;
        int to = line.indexOf(' ', from);
        sum += number(line.substring(from, to < 0 ? line.length() : to));
      }
    }
    return sum;
  }

  private static OptionalLong parse(String text) {
    if (text.isEmpty() || !text.chars().allMatch(c -> c >= '0' && c <= '9')) {
      return OptionalLong.empty();
    }
    try {
      return OptionalLong.of(Long.parseLong(text));
    } catch (NumberFormatException _) {
      return OptionalLong.of(Long.MAX_VALUE); // more digits than a long has: as good as no limit
    }
  }
}
