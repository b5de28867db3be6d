package dev.zlayer.cli.command.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.cli.Session;
import dev.zlayer.cli.terminal.Terminal;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.spec.read.SpecReader;
import dev.zlayer.spec.read.SpecResult;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** Docker's flags become the keys of a service; what comes out is read back as one. */
class RunFlagsTest {
  private static final Set<String> SINGLE =
      Set.of("name", "pull", "start", "start_within", "rm", "rm_after", "tty_size", "directory");

  @TempDir Path directory;

  private Json body(String... flags) {
    var nowhere = new PrintStream(OutputStream.nullOutputStream());
    var session =
        new Session(
            nowhere,
            nowhere,
            InputStream.nullInputStream(),
            Map.of("SET_HERE", "yes"),
            directory,
            false,
            false,
            false,
            Terminal.NONE);
    var command = new RunCommand(session);
    List<String> words = new ArrayList<>(Arrays.asList(flags));
    words.addAll(List.of("app:1", "serve", "--port", "80"));
    new CommandLine(command).setStopAtPositional(true).parseArgs(words.toArray(String[]::new));
    Json body = command.body();
    assertThat(asService(body)).as("readable as a service").isInstanceOf(SpecResult.Valid.class);
    return body;
  }

  /** All but what only single containers have. */
  private static SpecResult asService(Json body) {
    var service = Json.object();
    body.members()
        .forEach(
            (key, value) -> {
              if (!SINGLE.contains(key)) {
                service.put(key, value);
              }
            });
    Json file =
        Json.object()
            .put("version", "v1")
            .put("deployment", "test")
            .put("services", Map.of("one", service.build()))
            .build();
    SpecResult result =
        SpecReader.read("test", JsonText.print(file).getBytes(StandardCharsets.UTF_8));
    if (result instanceof SpecResult.Invalid(var problems)) {
      throw new AssertionError(problems.toString());
    }
    return result;
  }

  @Test
  void whatFollowsTheImageBelongsToTheProgram() {
    Json body = body("--entrypoint", "/bin/tool", "-w", "/src", "-u", "1000:1000", "--init");

    assertThat(body.at("image").string()).contains("app:1");
    assertThat(body.at("command").at("args").strings()).containsExactly("serve", "--port", "80");
    assertThat(body.at("command").at("entrypoint").strings()).containsExactly("/bin/tool");
    assertThat(body.at("command").at("workdir").string()).contains("/src");
    assertThat(body.at("user").string()).contains("1000:1000");
    assertThat(body.at("init_container").bool()).contains(true);
    assertThat(body.at("start").bool()).contains(false);
    assertThat(body("-d").at("start").bool()).contains(true);
  }

  /** Whoever is killed before the start leaves nothing: the daemon removes it in time. */
  @Test
  void onlyWhatIsRunInFrontOfAPersonHasToBeStartedInTime() {
    assertThat(body("--rm").at("start_within").string()).contains("30s");
    assertThat(body("--rm", "-it").at("start_within").string()).contains("30s");
    assertThat(body().at("start_within").string()).isEmpty();
    assertThat(body("--rm", "-d").at("start_within").string()).isEmpty();
  }

  @Test
  void variablesComeFromFlagsFilesAndHere() throws Exception {
    Files.writeString(directory.resolve("vars"), "# a remark\nA=file\nB=file\nSET_HERE\n");

    Json env = body("--env-file", "vars", "-e", "A=flag", "-eC=", "-e", "NOT_SET_HERE").at("env");

    assertThat(env.stringMap())
        .isEqualTo(Map.of("A", "flag", "B", "file", "C", "", "SET_HERE", "yes"));
  }

  @Test
  void sizesAreDockers() {
    Json resources =
        body("-m", "512m", "--memory-swap", "1g", "--cpus", "1.5", "--pids-limit", "100")
            .at("resources");

    assertThat(resources.at("memory").string()).contains((512L << 20) + "B");
    assertThat(resources.at("memory_swap").string()).contains((1L << 30) + "B");
    assertThat(resources.at("cpu").toString()).contains("1.5");
    assertThat(resources.at("pids_limit").integer()).contains(100L);
    assertThat(body("-m", "1g", "--memory-swap", "-1").at("resources").at("memory_swap").string())
        .contains("-1");
  }

  @Test
  void portsWithAddressesProtocolsAndRanges() {
    List<Json> ports =
        body("-p", "8080:80", "-p", "127.0.0.1:53:53/udp", "-p", "443", "-p", "[::1]:90:9")
            .at("port_mappings")
            .items();

    assertThat(JsonText.print(Json.of(ports)))
        .isEqualTo(
            """
            [{"host_port":8080,"container_port":80,"protocol":"tcp"},\
            {"host_port":53,"container_port":53,"protocol":"udp","host_ip":"127.0.0.1"},\
            {"host_port":0,"container_port":443,"protocol":"tcp"},\
            {"host_port":90,"container_port":9,"protocol":"tcp","host_ip":"::1"}]\
            """);
    assertThat(body("-p", "8000-8002:9000-9002").at("port_mappings").items()).hasSize(3);
  }

  @ParameterizedTest
  @ValueSource(strings = {"x", "0:80", "70000:80", "8000-8001:80", "80:80/sctp", "9-8:9-8"})
  void impossiblePortsAreRefused(String port) {
    assertThatThrownBy(() -> body("-p", port))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("--publish '" + port + "'");
  }

  @Test
  void volumesPathsAndMemory() {
    List<Json> storage =
        body(
                "-v", "data:/data",
                "-v", "./site:/srv:ro",
                "-v", "/scratch",
                "--tmpfs", "/tmp:size=64m,mode=1777",
                "--mount", "type=bind,src=/etc,dst=/host,readonly")
            .at("storage")
            .items();

    assertThat(storage).hasSize(5);
    assertThat(storage.get(0).at("type").string()).contains("named");
    assertThat(storage.get(1).at("source").string()).contains(directory.resolve("site").toString());
    assertThat(storage.get(1).at("readonly").bool()).contains(true);
    assertThat(storage.get(2).at("type").string()).contains("anonymous");
    assertThat(storage.get(4).at("mode").integer()).contains(01777L);
    assertThat(storage.get(3).at("source").string()).contains("/etc");
  }

  @Test
  void whatAVolumeCannotBeIsRefused() {
    assertThatThrownBy(() -> body("-v", "data:/data:z"))
        .isInstanceOf(AgentException.Unsupported.class)
        .hasMessageContaining("'z', write ro or rw");
    assertThatThrownBy(() -> body("--mount", "type=bind,source=/a"))
        .hasMessageContaining("no target=");
    assertThatThrownBy(() -> body("--device", "/dev/fuse:/dev/other"))
        .hasMessageContaining("same path");
  }

  @Test
  void rightsNetworksAndPolicies() {
    Json body =
        body(
            "--cap-drop",
            "ALL",
            "--cap-add",
            "NET_BIND_SERVICE",
            "--read-only",
            "--network",
            "host",
            "-h",
            "box",
            "--add-host",
            "db:192.0.2.7",
            "--dns",
            "192.0.2.53",
            "--ulimit",
            "nofile=1024:4096",
            "--device",
            "/dev/fuse",
            "--restart",
            "on-failure:3",
            "--stop-signal",
            "INT",
            "--stop-timeout",
            "5",
            "--platform",
            "linux/amd64",
            "-l",
            "team=blue");

    assertThat(body.at("network_mode").string()).contains("host");
    assertThat(body.at("restart_policy").at("kind").string()).contains("on_failure");
    assertThat(body.at("restart_policy").at("max_attempts").integer()).contains(3L);
    assertThat(body.at("stop_grace_period").string()).contains("5s");
    assertThat(body.at("ulimits").at("nofile").at("hard").integer()).contains(4096L);
    assertThat(body("--sysctl", "net.core.somaxconn=100").at("sysctls").stringMap())
        .containsEntry("net.core.somaxconn", "100");
    assertThat(body("--network", "back").at("network_mode").string()).contains("bridge:back");
    assertThatThrownBy(() -> body("--restart", "sometimes")).hasMessageContaining("always");
  }
}
