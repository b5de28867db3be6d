package dev.zlayer.proxy.ingress;

import dev.zlayer.container.ServiceKey;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * How HAProxy learns which services are set aside: by a map from backends to milliseconds that
 * requests wait, changed through its sockets. Pure.
 */
final class ModeRules {
  static final String MAP = "modes.map";
  static final String LUA = "pause.lua";

  private ModeRules() {}

  /** The backends that are set aside, with how long their requests wait. */
  static Map<String, String> entries(
      Collection<IngressEndpoint> endpoints, Map<ServiceKey, RouteMode> modes) {
    var entries = new TreeMap<String, String>();
    for (IngressEndpoint endpoint : endpoints) {
      RouteMode mode = modes.get(endpoint.service());
      if (mode != null) {
        entries.put(endpoint.backend(), Long.toString(mode.hold().toMillis()));
      }
    }
    return entries;
  }

  static String text(Map<String, String> entries) {
    return entries.entrySet().stream()
        .map(one -> one.getKey() + " " + one.getValue() + "\n")
        .collect(Collectors.joining());
  }

  /** Waits until the service is resumed; {@code txn.mode} is set when it is not. */
  static String lua(Path directory) {
    return """
    local modes = Map.new("%s", Map._str)
    core.register_action("pause", {"http-req", "tcp-req"}, function(txn)
      local backend = txn:get_var("txn.backend")
      local left = tonumber(modes:lookup(backend) or 0)
      while left > 0 and modes:lookup(backend) do
        core.msleep(20)
        left = left - 20
      end
      if modes:lookup(backend) then
        txn:set_var("txn.mode", true)
      end
    end)
    """
        .formatted(directory.resolve(MAP));
  }

  /** With the content of responses, if there is one. */
  static List<String> backend(Path directory, Optional<String> page) {
    String content =
        page.orElse(
            "content-type text/plain string \"this service is not available at the moment\\n\"");
    return List.of(
        "  http-request lua.pause if { be_name,map_str(%s) -m found }"
            .formatted(directory.resolve(MAP)),
        "  http-request return status 503 %s hdr Retry-After 10 hdr Cache-Control no-store if { var(txn.mode) -m found }"
            .formatted(content));
  }

  /** In the backend of an endpoint that is given connections; they end instead of getting 503. */
  static List<String> streamBackend(Path directory, String backend) {
    return List.of(
        "  tcp-request content set-var(txn.backend) str(%s)".formatted(backend),
        "  tcp-request content lua.pause if { be_name,map_str(%s) -m found }"
            .formatted(directory.resolve(MAP)),
        "  tcp-request content reject if { var(txn.mode) -m found }");
  }

  /** The commands that make a map of a worker, as it shows it, hold these entries. */
  static List<String> commands(Path map, String shown, Map<String, String> wanted) {
    var present = new TreeMap<String, String>();
    for (String line : shown.lines().toList()) {
      String[] fields = line.split(" ", -1);
      if (fields.length == 3 && fields[0].startsWith("0x")) {
        present.put(fields[1], fields[2]);
      }
    }
    var commands = new ArrayList<String>();
    wanted.forEach(
        (backend, value) -> {
          String before = present.remove(backend);
          if (before == null) {
            commands.add("add map %s %s %s".formatted(map, backend, value));
          } else if (!before.equals(value)) {
            commands.add("set map %s %s %s".formatted(map, backend, value));
          }
        });
    present.keySet().forEach(backend -> commands.add("del map %s %s".formatted(map, backend)));
    return commands;
  }
}
