package dev.zlayer.spec.yaml;

import dev.zlayer.spec.problem.Position;
import dev.zlayer.spec.problem.Problems;
import dev.zlayer.spec.problem.SpecPath;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** Bytes to characters: UTF-8 only, bounded, without control characters. */
final class YamlText {
  static final int MAX_BYTES = 1 << 20;

  private YamlText() {}

  /** The text, or nothing when a problem was found. */
  static Optional<String> decode(byte[] content, Problems problems) {
    Optional<String> refusal = refusal(content);
    if (refusal.isPresent()) {
      problems.add(Position.START, SpecPath.ROOT, refusal.get());
      return Optional.empty();
    }
    int skip = startsWith(content, 0xEF, 0xBB, 0xBF) ? 3 : 0;
    CharBuffer characters = CharBuffer.allocate(content.length);
    CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder();
    CoderResult result =
        decoder.decode(ByteBuffer.wrap(content, skip, content.length - skip), characters, true);
    String text = characters.flip().toString();
    if (result.isError()) {
      problems.add(
          positionAfter(text, text.length()),
          SpecPath.ROOT,
          "these bytes are not UTF-8, save the file as UTF-8");
      return Optional.empty();
    }
    return findControl(text, problems) ? Optional.empty() : Optional.of(text);
  }

  private static Optional<String> refusal(byte[] content) {
    if (content.length > MAX_BYTES) {
      return Optional.of(
          "the file has %d bytes, more than the limit of %d, split it into several deployments"
              .formatted(content.length, MAX_BYTES));
    }
    boolean wide =
        startsWith(content, 0xFE, 0xFF)
            || startsWith(content, 0xFF, 0xFE)
            || startsWith(content, 0, 0, 0xFE, 0xFF);
    return wide
        ? Optional.of("the file is encoded as UTF-16 or UTF-32, save it as UTF-8")
        : Optional.empty();
  }

  private static boolean findControl(String text, Problems problems) {
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      boolean control = c < ' ' ? c != '\n' && c != '\r' && c != '\t' : c >= 0x7F && c <= 0x9F;
      if (control && c != 0x85) {
        problems.add(
            positionAfter(text, i),
            SpecPath.ROOT,
            "a control character (code %d) is not allowed, write \"\\x%02x\" if it is meant"
                .formatted((int) c, (int) c));
        return true;
      }
    }
    return false;
  }

  private static Position positionAfter(String text, int end) {
    int line = 1;
    int start = 0;
    for (int i = 0; i < end; i++) {
      if (text.charAt(i) == '\n') {
        line++;
        start = i + 1;
      }
    }
    return new Position(line, text.codePointCount(start, end) + 1);
  }

  private static boolean startsWith(byte[] content, int... prefix) {
    if (content.length < prefix.length) {
      return false;
    }
    for (int i = 0; i < prefix.length; i++) {
      if ((content[i] & 0xFF) != prefix[i]) {
        return false;
      }
    }
    return true;
  }
}
