package dev.zlayer.runtime.wsl;

import dev.zlayer.container.SecuritySpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.UnixPath;
import dev.zlayer.runtime.oci.config.DeviceNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** The device nodes of the distribution that a container sees. */
record WslDevices(WslShell shell) {
  private static final int TYPE_MASK = 0170000;
  private static final int CHARACTER = 0020000;
  private static final int BLOCK = 0060000;

  private static final String ONE = "stat -L -c '%f %t %T %u %g' \"$1\" 2>/dev/null || echo none";

  /** Every container has its own of those that are left out. */
  private static final String ALL =
      """
      find /dev -xdev ! -type l '(' -type b -o -type c ')' \
        ! -path '/dev/pts/*' ! -name console ! -name full ! -name null ! -name ptmx ! -name random \
        ! -name tty ! -name urandom ! -name zero -printf '%p\\n'
      """;

  List<DeviceNode> of(SecuritySpec security) throws IOException, InterruptedException {
    var nodes = new ArrayList<DeviceNode>();
    if (security.privileged()) {
      for (String path : shell.lines(ALL)) {
        nodes.add(one(path, "rwm"));
      }
      return nodes;
    }
    for (SecuritySpec.Device device : security.devices()) {
      String access =
          (device.read() ? "r" : "") + (device.write() ? "w" : "") + (device.mknod() ? "m" : "");
      nodes.add(one(UnixPath.text(device.path()), access));
    }
    return nodes;
  }

  DeviceNode one(String path, String access) throws IOException, InterruptedException {
    return parse(path, access, shell.run(ONE, path).strip());
  }

  static DeviceNode parse(String path, String access, String text) {
    String[] fields = text.split(" ", -1);
    if (fields.length != 5) {
      throw new AgentException.InvalidSpec(
          "device %s is not in the WSL distribution".formatted(path));
    }
    int mode = Integer.parseInt(fields[0], 16);
    int type = mode & TYPE_MASK;
    if (type != CHARACTER && type != BLOCK) {
      throw new AgentException.InvalidSpec(path + " is not a device");
    }
    return new DeviceNode(
        path,
        type == CHARACTER ? "c" : "b",
        Long.parseLong(fields[1], 16),
        Long.parseLong(fields[2], 16),
        mode & 0777,
        Long.parseLong(fields[3]),
        Long.parseLong(fields[4]),
        access);
  }
}
