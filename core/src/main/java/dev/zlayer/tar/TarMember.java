package dev.zlayer.tar;

import java.util.Map;

/**
 * One member of an archive as its headers say, nothing checked but that numbers are numbers. Names
 * are bytes, one per character (ISO-8859-1).
 *
 * @param linkName the target of a link, else empty
 * @param permissions the twelve bits of chmod
 * @param size of the file once written, holes included
 * @param attributes extended attributes by name
 */
public record TarMember(
    TarKind kind,
    String name,
    String linkName,
    int permissions,
    long user,
    long group,
    long size,
    TarTime accessed,
    TarTime modified,
    long major,
    long minor,
    Map<String, byte[]> attributes) {
  public TarMember {
    attributes = Map.copyOf(attributes);
  }

  TarMember withPermissions(int changed) {
    return new TarMember(
        kind,
        name,
        linkName,
        changed,
        user,
        group,
        size,
        accessed,
        modified,
        major,
        minor,
        attributes);
  }

  /** Seconds since 1970, before it negative, and the nanoseconds after that second. */
  public record TarTime(long seconds, int nanos) {}
}
