package dev.zlayer.runtime.oci.config;

import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A device as it appears inside.
 *
 * @param type {@code c} or {@code b}
 * @param access out of {@code rwm}
 */
public record DeviceNode(
    String path,
    String type,
    long major,
    long minor,
    int permissions,
    long uid,
    long gid,
    String access) {
  private static final int TYPE_MASK = 0170000;
  private static final int CHARACTER = 0020000;
  private static final int BLOCK = 0060000;

  /** Reads a node of the host; {@code path} is where it appears inside. */
  public static DeviceNode read(Path node, String path, String access) {
    try {
      int mode = (int) Files.getAttribute(node, "unix:mode");
      int type = mode & TYPE_MASK;
      if (type != CHARACTER && type != BLOCK) {
        throw new AgentException.InvalidSpec(node + " is not a device");
      }
      long rdev = (long) Files.getAttribute(node, "unix:rdev");
      return new DeviceNode(
          path,
          type == CHARACTER ? "c" : "b",
          ((rdev >>> 8) & 0xfff) | ((rdev >>> 32) & ~0xfffL),
          (rdev & 0xff) | ((rdev >>> 12) & ~0xffL),
          mode & 0777,
          Integer.toUnsignedLong((int) Files.getAttribute(node, "unix:uid")),
          Integer.toUnsignedLong((int) Files.getAttribute(node, "unix:gid")),
          access);
    } catch (IOException e) {
      throw new AgentException.InvalidSpec("device " + node + " is not on this host", e);
    }
  }

  Json node() {
    return Json.object()
        .put("path", path)
        .put("type", type)
        .put("major", major)
        .put("minor", minor)
        .put("fileMode", permissions)
        .put("uid", uid)
        .put("gid", gid)
        .build();
  }

  Json rule() {
    return Json.object()
        .put("allow", true)
        .put("type", type)
        .put("major", major)
        .put("minor", minor)
        .put("access", access)
        .build();
  }
}
