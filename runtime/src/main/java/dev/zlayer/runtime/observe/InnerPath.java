package dev.zlayer.runtime.observe;

import dev.zlayer.error.AgentException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * A path inside a container, from its root, without leading slash; bytes, one per character. The
 * last name is kept apart because it is not followed when it is a link, unless the path ended with
 * a slash or a dot.
 *
 * @param name empty for the root, and when the path is to be followed to its end
 */
record InnerPath(String parent, String name) {
  /** Takes {@code ..} as a shell would: it never leads above the root. */
  static InnerPath parse(String path) {
    if (path.isEmpty() || path.indexOf('\0') >= 0) {
      throw new AgentException.InvalidSpec("'" + path + "' is not a path: write one such as /etc");
    }
    Deque<String> components = new ArrayDeque<>();
    String raw = raw(path);
    for (String component : raw.split("/", -1)) {
      switch (component) {
        case "", "." -> {}
        case ".." -> components.pollLast();
        default -> components.add(component);
      }
    }
    boolean followed = raw.endsWith("/") || raw.endsWith("/.") || raw.equals(".");
    String name = followed || components.isEmpty() ? "" : components.removeLast();
    return new InnerPath(String.join("/", components), name);
  }

  static String raw(String text) {
    return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
  }

  static String readable(String raw) {
    return new String(raw.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
  }

  /** All of it. */
  String whole() {
    return parent.isEmpty() || name.isEmpty() ? parent + name : parent + "/" + name;
  }
}
