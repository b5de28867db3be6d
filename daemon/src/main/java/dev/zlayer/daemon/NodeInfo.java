package dev.zlayer.daemon;

import dev.zlayer.daemon.rest.ViewJson;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.host.linux.UserNamespaces;
import dev.zlayer.host.probe.HostFacts;
import dev.zlayer.host.probe.HostPart;
import dev.zlayer.host.probe.HostProbe;
import dev.zlayer.json.Json;
import dev.zlayer.port.ContainerRuntime;
import dev.zlayer.runtime.oci.OciRuntime;
import dev.zlayer.runtime.oci.tool.OciTool;
import dev.zlayer.runtime.oci.tool.OciTools;
import java.io.File;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** What this node is and has, for {@code zlayer info}. */
final class NodeInfo {
  private static final String USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin";

  private NodeInfo() {}

  /** Where the programs of this host are looked for. */
  static HostProbe probe(Map<String, String> env) {
    // a user's PATH often lacks sbin, where these programs live
    String path =
        Optional.ofNullable(env.get("PATH")).map(own -> own + ":" + USUAL_PATH).orElse(USUAL_PATH);
    return new HostProbe(path, HostProbe.CNI_DIRECTORIES);
  }

  static Json look(Agent agent, Map<String, String> env) throws InterruptedException {
    HostFacts facts = probe(env).probe();
    Optional<OciTools> tools = agent.oci().map(OciRuntime::tools);
    Optional<String> overlay = agent.images().snapshots().copyReason();
    return Json.object()
        .put("version", Version.CURRENT.version())
        .put("pid", ProcessHandle.current().pid())
        .put("data_dir", agent.config().directories().data())
        .put("network_prefix", Settings.networks(agent.config()).prefix())
        .put("socket", agent.config().socketPath())
        .put("platform", facts.platform())
        .put("kernel", facts.kernel())
        .put("cgroups", facts.cgroups().name().toLowerCase(Locale.ROOT))
        .put("memory_bytes", facts.memoryBytes())
        .put("cpus", facts.cpus())
        .put("root", facts.root())
        .put("rootless", UserNamespaces.inside())
        .putIf("limits", RootlessPart.limits())
        .put("overlayfs", overlay.isEmpty())
        .putIf("overlayfs_problem", overlay)
        .putIf("apparmor", tools.map(all -> all.apparmor().inForce()))
        .putIf(
            "apparmor_profile",
            tools.filter(all -> all.apparmor().inForce()).flatMap(all -> all.apparmor().name()))
        .putIf("apparmor_problem", tools.flatMap(all -> all.apparmor().problem()))
        .put("parts", parts(facts, tools))
        .put("obstacles", facts.obstacles(RootlessPart.missing(agent.config(), env)))
        .put("warnings", warnings(agent, env))
        .putIf("oci_runtime", tools.map(all -> all.runtime().name()))
        .putIf("wsl", WslPart.info(agent.config()))
        .put("runtimes", agent.runtimes().stream().map(NodeInfo::runtime).toList())
        .put("damages", agent.damages())
        .put("containers", agent.runtime().list().size())
        .put("images", agent.runtime().images().list().size())
        .put("jobs_active", agent.jobs().active())
        .put("jobs_waiting", agent.jobs().queue().size())
        .build();
  }

  /** How this machine is called. */
  static String name(Map<String, String> env) {
    return File.separatorChar == '/'
        ? Machine.hostname()
        : env.getOrDefault("COMPUTERNAME", "localhost");
  }

  /** What keeps containers from working fully, each with what to do. */
  static List<String> warnings(Agent agent, Map<String, String> env) throws InterruptedException {
    var warnings = new ArrayList<>(RootlessPart.warnings(env));
    if (agent.networks().isPresent()) {
      warnings.addAll(agent.networks().get().firewallProblems());
    }
    return warnings;
  }

  private static Json runtime(ContainerRuntime runtime) {
    var capabilities = runtime.capabilities();
    return Json.object()
        .put("name", runtime.name())
        .put("platforms", ViewJson.of(capabilities.platforms()))
        .put("artifacts", capabilities.artifacts())
        .put("powers", capabilities.powers().stream().map(Class::getSimpleName).sorted().toList())
        .build();
  }

  private static List<Json.Obj> parts(HostFacts facts, Optional<OciTools> tools) {
    Map<String, String> verdicts = new LinkedHashMap<>();
    Optional<OciTool> used = tools.map(OciTools::runtime);
    for (OciTool tool : tools.map(OciTools::tried).orElse(List.of())) {
      verdicts.put(
          tool.name(),
          tool.problem()
              .map(problem -> "does not work here: " + problem)
              .orElse(used.filter(tool::equals).isPresent() ? "used" : "works"));
    }
    return facts.parts().stream().map(part -> part(part, verdicts)).toList();
  }

  private static Json.Obj part(HostPart part, Map<String, String> verdicts) {
    return Json.object()
        .put("name", part.name())
        .put("present", part.present())
        .put("purpose", part.purpose())
        .putIf("path", part.path())
        .putIf("version", part.version())
        .putIf("verdict", Optional.ofNullable(verdicts.get(part.name())))
        .put("package", part.debianPackage())
        .build();
  }
}
