package dev.zlayer.cli.command.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.CliFixture;
import dev.zlayer.cli.DaemonFixture;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import dev.zlayer.testkit.wasm.WasmMaker;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Every example, run as a reader would. */
@Timeout(180)
@Requires({Fact.ROOT, Fact.OVERLAYFS, Fact.RUNC, Fact.CONMON, Fact.CNI, Fact.BUSYBOX})
class ExamplesIT {
  private static final Path EXAMPLES = Path.of("..", "examples");
  private static final Set<String> ELSEWHERE =
      Set.of(
          "init-steps.zlayer.yml",
          "shop.zlayer.yml",
          "cluster.zlayer.yml", // ./quickstart --cluster
          "web.zlayer.yml", // IngressHttpsIT
          "quickstart-wasm.zlayer.yml",
          "wasm.zlayer.yml");

  @TempDir static Path directory;
  private static DaemonFixture daemon;

  @BeforeAll
  static void startADaemon() {
    daemon = DaemonFixture.start(directory).withBusybox("busybox:1.36");
  }

  @AfterAll
  static void removeEverything() {
    if (daemon != null) {
      daemon.close();
    }
  }

  /** Endpoints get ports of the host that are free, so that tests can run side by side. */
  private static void copy(String name, String... replaced) throws IOException {
    String text = Files.readString(EXAMPLES.resolve(name));
    for (int i = 0; i < replaced.length; i += 2) {
      assertThat(text).contains(replaced[i]);
      text = text.replace(replaced[i], replaced[i + 1]);
    }
    Files.writeString(directory.resolve(name), text);
  }

  @Test
  void initStepsWaitForServicesOfTheirDeployment() throws Exception {
    copy("init-steps.zlayer.yml");

    CliFixture.Result up = daemon.cli().run("up", "init-steps.zlayer.yml");

    try {
      assertThat(up.code()).as(up.out() + up.err()).isZero();
      assertThat(up.err()).contains("'init-steps' is ready");
      assertThat(daemon.ok("exec", "init-steps/app/1", "wget", "-qO-", "http://127.0.0.1:8080/"))
          .isEqualTo("welcome\n");
      assertThat(daemon.ok("events")).contains("replica.init_step");
    } finally {
      daemon.cli().run("down", "init-steps", "--volumes");
    }
  }

  @Test
  void everyOtherExampleIsApplied() throws Exception {
    List<String> names;
    try (Stream<Path> files = Files.list(EXAMPLES)) {
      names = files.map(file -> file.getFileName().toString()).sorted().toList();
    }
    assertThat(names).containsAll(ELSEWHERE);
    for (String name : names) {
      if (!ELSEWHERE.contains(name)) {
        String text = Files.readString(EXAMPLES.resolve(name));
        Files.writeString(
            directory.resolve(name), text.replace("8080", freePort()).replace("9000", freePort()));
        apply(name);
      }
    }
  }

  private static void apply(String name) {
    CliFixture.Result up = daemon.cli().run("up", name);
    try {
      assertThat(up.code()).as(name + "\n" + up.out() + up.err()).isZero();
    } finally {
      daemon.cli().run("down", name.replace(".zlayer.yml", ""), "--volumes");
    }
  }

  /** Its images are stand-ins under the names of the real ones. */
  @Test
  void theShopIsAppliedInItsOrder() throws Exception {
    load("docker.io/library/postgres:16", "sleep 1000", "bin/pg_isready", "test $2 = shop");
    load(
        "registry.example.org/shop/api:1.4.2",
        "mkdir /www; echo ok > /www/health; exec httpd -f -p 8080 -h /www",
        "srv/migrate",
        "echo $1 $DATABASE_URL");
    load("registry.example.org/shop/web:1.4.2", "exec httpd -f -p 3000", "srv/none", "");
    byte[] password = "s3cret".getBytes(StandardCharsets.UTF_8);
    daemon.cli().runWithInput(password, "secret", "set", "db-password");
    copy(
        "shop.zlayer.yml",
        "port: 80\n",
        "port: " + freePort() + "\n",
        "min_healthy_time: 15s",
        "min_healthy_time: 1s",
        "stop_grace_period: 1m",
        "stop_grace_period: 1s");

    CliFixture.Result up = daemon.cli().run("up", "shop.zlayer.yml");

    try {
      assertThat(up.code()).as(up.out() + up.err()).isZero();
      assertThat(daemon.ok("job", "logs", "shop/migrate"))
          .isEqualTo("up postgres://shop:[secret]@db:5432/shop\n");
      assertThat(daemon.ok("status", "shop")).contains("2/2");
    } finally {
      daemon.cli().run("down", "shop", "--volumes");
      daemon.cli().run("secret", "rm", "db-password");
    }
  }

  private static void load(String name, String command, String program, String script) {
    byte[] image =
        ImageMaker.busybox()
            .layer(
                TarEntry.directory("srv"),
                TarEntry.file(program, "#!/bin/sh\n" + script + "\n").withMode(0755))
            .workdir("/srv")
            .cmd("sh", "-c", command)
            .make()
            .dockerArchive(name);
    assertThat(daemon.cli().runWithInput(image, "image", "load").code()).isZero();
  }

  @Test
  @Requires(Fact.WASI_CLANG)
  void modulesAreRunBesideContainers() throws Exception {
    importModule(
        "localhost/hello-wasm:1",
        "#include <stdio.h>\nint main() { puts(\"hello from WebAssembly\"); }");
    copy("quickstart-wasm.zlayer.yml");
    daemon.ok("up", "quickstart-wasm.zlayer.yml");
    assertThat(daemon.ok("job", "run", "--wait", "quickstart-wasm/hello"))
        .isEqualTo("hello from WebAssembly\n");
    daemon.ok("down", "quickstart-wasm");

    importModule(
        "registry.example.org/demo/watcher-wasm:1.0",
        """
        #include <stdio.h>
        #include <unistd.h>
        int main(int count, char **words) {
          printf("watching %s\\n", words[count - 1]);
          fflush(stdout);
          while (1) sleep(1);
        }
        """);
    importModule(
        "registry.example.org/demo/thumbnails-wasm:1.0",
        "#include <stdio.h>\nint main() { puts(\"done\"); }");
    copy(
        "wasm.zlayer.yml",
        "/srv/inbox",
        Files.createDirectories(directory.resolve("in")).toString(),
        "/srv/outbox",
        Files.createDirectories(directory.resolve("out")).toString());
    try {
      daemon.ok("up", "wasm.zlayer.yml");
      assertThat(daemon.ok("logs", "wasm-demo/watcher")).contains("watching /inbox");
      assertThat(daemon.ok("job", "run", "--wait", "wasm-demo/thumbnails")).isEqualTo("done\n");
    } finally {
      daemon.cli().run("down", "wasm-demo", "--volumes");
    }
  }

  private static void importModule(String name, String source) throws IOException {
    Path module = directory.resolve("module.wasm");
    Files.write(module, WasmMaker.ofC(source));
    daemon.ok("image", "import", module.toString(), name);
  }

  private static String freePort() throws IOException {
    try (var socket = new ServerSocket(0)) {
      return Integer.toString(socket.getLocalPort());
    }
  }
}
