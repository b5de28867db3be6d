package dev.zlayer.image.layer;

/**
 * The path of an entry inside the root, without leading, double or trailing slashes and without
 * {@code .}; the root itself is empty. Bytes, one per character.
 */
record EntryPath(String parent, String name) {
  /**
   * @param entry whose path or target it is, for messages
   * @throws LayerException for {@code ..} and for what is too long: no honest layer has either
   */
  static EntryPath parse(String entry, String raw, LayerLimits limits) throws LayerException {
    if (raw.length() > limits.pathBytes()) {
      throw new LayerException(
          entry,
          "path has %d bytes, more than %d".formatted(raw.length(), limits.pathBytes()),
          null);
    }
    var path = new StringBuilder(raw.length());
    int nameStart = 0;
    for (String component : raw.split("/", -1)) {
      if (component.isEmpty() || component.equals(".")) {
        continue;
      }
      check(entry, component, limits);
      if (!path.isEmpty()) {
        path.append('/');
      }
      nameStart = path.length();
      path.append(component);
    }
    return new EntryPath(
        nameStart == 0 ? "" : path.substring(0, nameStart - 1), path.substring(nameStart));
  }

  /** Splits a path that is already clean. */
  static EntryPath ofClean(String path) {
    int slash = path.lastIndexOf('/');
    return new EntryPath(slash < 0 ? "" : path.substring(0, slash), path.substring(slash + 1));
  }

  boolean root() {
    return name.isEmpty();
  }

  String path() {
    return parent.isEmpty() ? name : parent + "/" + name;
  }

  private static void check(String entry, String component, LayerLimits limits)
      throws LayerException {
    if (component.equals("..")) {
      throw new LayerException(entry, "'..' would leave the root", null);
    }
    if (component.length() > limits.nameBytes()) {
      throw new LayerException(
          entry,
          "a name in it has %d bytes, more than %d"
              .formatted(component.length(), limits.nameBytes()),
          null);
    }
    if (component.indexOf('\0') >= 0) {
      throw new LayerException(entry, "name has a zero byte", null);
    }
  }
}
