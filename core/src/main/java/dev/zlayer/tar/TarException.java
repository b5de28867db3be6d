package dev.zlayer.tar;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** The archive is broken or asks for more than is allowed; says at which member. */
public final class TarException extends IOException {
  private static final int SHOWN = 200;

  private final String member;
  private final String reason;

  public TarException(String rawMember, String reason) {
    super("archive member '" + readable(rawMember) + "': " + reason);
    this.member = rawMember;
    this.reason = reason;
  }

  /** The raw name of the member, empty when it broke before there was one. */
  public String member() {
    return member;
  }

  /** What is wrong, without the name. */
  public String reason() {
    return reason;
  }

  /** A raw name as text for people: one line, no control characters, not too long. */
  public static String readable(String raw) {
    String text =
        new String(raw.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8)
            .replaceAll("\\p{Cntrl}", "?");
    return text.length() <= SHOWN ? text : text.substring(0, SHOWN) + "...";
  }
}
