package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import dev.zlayer.testkit.wasm.WasmMaker;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** One file with a Linux container, a WebAssembly module and a service that needs Windows. */
@Requires({
  Fact.ROOT,
  Fact.OVERLAYFS,
  Fact.RUNC,
  Fact.CONMON,
  Fact.CNI,
  Fact.BUSYBOX,
  Fact.WASI_CLANG
})
class ManyRuntimesIT {
  private static final String MODULE = "localhost/module:1";
  private static final String PROGRAM =
      """
      #include <stdio.h>
      #include <unistd.h>
      int main(void) { puts("module at work"); fflush(stdout); for (;;) sleep(60); }
      """;
  private static final String FILE =
      """
      version: v1
      deployment: mixed
      services:
        linux:
          image: {name: BUSYBOX, pull_policy: never}
          command: [sleep, "1000"]
          stop_grace_period: 1s
        module:
          image: {name: MODULE, pull_policy: never}
        windows:
          image: {name: BUSYBOX, pull_policy: never}
          platform: {os: windows, arch: amd64}
      """
          .replace("BUSYBOX", Node.IMAGE)
          .replace("MODULE", MODULE);

  private Node node;

  @BeforeEach
  void open() throws Exception {
    node = new Node();
  }

  @AfterEach
  void close() throws Exception {
    node.close();
  }

  @Test
  void eachServiceIsRunByWhomItsPlatformAsksForAlsoAfterACrash() throws Exception {
    long pid;
    try (ChildDaemon first = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      Node.loadImage(rest);
      rest.postBytes("/images/import?ref=" + MODULE, WasmMaker.ofC(PROGRAM)).expect(200);
      rest.put("/deployments/mixed?directory=/", FILE.getBytes(StandardCharsets.UTF_8)).expect(202);
      awaitAsItShouldBe(rest);
      pid = container(rest, "linux").at("pid").integer().orElseThrow();
      assertThat(container(rest, "module").at("pid").isNull()).as("no process").isTrue();
      await("it works", () -> output(rest).contains("module at work"));
      first.kill();
    }
    try (ChildDaemon _ = ChildDaemon.start(node);
        Rest rest = node.rest()) {
      awaitAsItShouldBe(rest);
      assertThat(container(rest, "linux").at("pid").integer()).contains(pid);
      rest.delete("/deployments/mixed?wait=60s");
      await("it is gone", () -> rest.get("/deployments/mixed").status() == 404);
      assertThat(rest.get("/containers?all=true").json().items()).isEmpty();
    }
  }

  private static void awaitAsItShouldBe(Rest rest) {
    await("the Linux container", () -> state(rest, "linux").equals("running"));
    await("the module", () -> state(rest, "module").equals("running"));
    await(
        "the refusal",
        () -> {
          String told = JsonText.print(service(rest, "windows"));
          return told.contains("windows") && told.contains("add a peer");
        });
    assertThat(state(rest, "windows")).isEqualTo("failed");
  }

  private static String state(Rest rest, String name) {
    try {
      return service(rest, name).at("state").string().orElse("");
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static Json service(Rest rest, String name) throws InterruptedException {
    return rest.get("/deployments/mixed/services/" + name).expect(200).json();
  }

  private static Json container(Rest rest, String service) throws InterruptedException {
    return rest.get("/containers?deployment=mixed&service=" + service)
        .expect(200)
        .json()
        .items()
        .getFirst();
  }

  private static String output(Rest rest) throws InterruptedException {
    String id = container(rest, "module").at("id").string().orElseThrow();
    return rest.get("/containers/" + id + "/logs").expect(200).lines().toString();
  }

  private static void await(String what, Callable<Boolean> holds) {
    Awaitility.await(what)
        .pollInterval(Duration.ofMillis(50))
        .atMost(Duration.ofSeconds(60))
        .until(holds);
  }
}
