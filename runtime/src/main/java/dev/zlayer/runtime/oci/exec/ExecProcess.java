package dev.zlayer.runtime.oci.exec;

import dev.zlayer.container.ExecSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.runtime.oci.config.BundleConfig;
import dev.zlayer.runtime.oci.config.CapabilitySet;
import dev.zlayer.runtime.oci.config.User;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;

/** The process of an exec: the container's own with what the spec changes. Pure. */
public final class ExecProcess {
  private ExecProcess() {}

  /**
   * Plans the process.
   *
   * @param process that of the container's config.json
   * @param ownCapabilities what the agent may hand on to a privileged one
   */
  public static Json of(Json process, ExecSpec spec, Optional<User> user, long ownCapabilities) {
    if (spec.command().isEmpty() || spec.command().getFirst().isEmpty()) {
      throw new AgentException.InvalidSpec("there is nothing to run: give a command");
    }
    var members = new LinkedHashMap<>(process.members());
    members.put("terminal", Json.of(spec.terminal()));
    members.remove("consoleSize");
    spec.size()
        .filter(_ -> spec.terminal())
        .ifPresent(size -> members.put("consoleSize", BundleConfig.consoleSize(size)));
    members.put("args", Json.of(spec.command()));
    members.put("env", Json.of(env(process.at("env").strings(), spec)));
    spec.workdir()
        .ifPresent(
            path -> {
              BundleConfig.checkWorkdir(path);
              members.put("cwd", Json.of(path));
            });
    user.ifPresent(who -> members.put("user", json(who)));
    if (spec.privileged()) {
      List<String> all =
          CapabilitySet.names(ownCapabilities).stream().map(name -> "CAP_" + name).toList();
      members.put(
          "capabilities",
          Json.object().put("bounding", all).put("effective", all).put("permitted", all).build());
      members.put("noNewPrivileges", Json.of(false));
      members.remove("apparmorProfile");
    }
    return new Json.Obj(members);
  }

  private static Json json(User user) {
    return Json.object()
        .put("uid", user.uid())
        .put("gid", user.gid())
        .put("additionalGids", user.extraGids())
        .build();
  }

  private static List<String> env(List<String> inherited, ExecSpec spec) {
    var lines = new ArrayList<String>();
    for (String line : inherited) {
      int equals = line.indexOf('=');
      if (equals < 0 || !spec.env().containsKey(line.substring(0, equals))) {
        lines.add(line);
      }
    }
    if (spec.terminal() && lines.stream().noneMatch(line -> line.startsWith("TERM="))) {
      lines.add("TERM=xterm");
    }
    spec.env().forEach((name, value) -> lines.add(name + "=" + value));
    return lines;
  }
}
