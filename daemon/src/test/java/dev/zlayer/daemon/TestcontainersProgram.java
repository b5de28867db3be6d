package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.github.dockerjava.api.model.HealthCheck;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.ComposeContainer;
import org.testcontainers.containers.Container.ExecResult;
import org.testcontainers.containers.ContainerLaunchException;
import org.testcontainers.containers.ExecConfig;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.Network;
import org.testcontainers.containers.output.OutputFrame;
import org.testcontainers.containers.output.WaitingConsumer;
import org.testcontainers.containers.startupcheck.OneShotStartupCheckStrategy;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.images.builder.ImageFromDockerfile;
import org.testcontainers.images.builder.Transferable;
import org.testcontainers.utility.DockerImageName;
import org.testcontainers.utility.MountableFile;

/**
 * What tests with Testcontainers do, in a process of its own: the library takes its settings from
 * the environment, and removes by its labels when the process ends. Prints the name of each step
 * that succeeded.
 */
final class TestcontainersProgram {
  /** All steps, in this order. */
  static final List<String> STEPS =
      List.of(
          "a port and a page",
          "aliases of a network",
          "files in and out",
          "ways to wait",
          "a process inside",
          "output",
          "a single run",
          "an image from a Dockerfile",
          "compose",
          "left to be removed");

  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final String PAGES = "httpd -f -p 8080 -h /";

  private final String image;
  private final Path directory;

  private TestcontainersProgram(String image, Path directory) {
    this.image = image;
    this.directory = directory;
  }

  /** An image of busybox, and a directory to work in. */
  public static void main(String[] arguments) throws Exception {
    var program = new TestcontainersProgram(arguments[0], Path.of(arguments[1]));
    for (String step : STEPS) {
      program.run(step);
      System.out.println(step);
    }
    System.exit(0); // the library's threads are no reason to stay
  }

  private void run(String step) throws Exception {
    switch (step) {
      case "a port and a page" -> page();
      case "aliases of a network" -> aliases();
      case "files in and out" -> files();
      case "ways to wait" -> waiting();
      case "a process inside" -> process();
      case "output" -> output();
      case "a single run" -> once();
      case "an image from a Dockerfile" -> built();
      case "compose" -> compose();
      case "left to be removed" -> left();
      default -> throw new IllegalArgumentException(step);
    }
  }

  private GenericContainer<?> container(String script) {
    return new GenericContainer<>(DockerImageName.parse(image))
        .withCommand("sh", "-c", script)
        .withStartupTimeout(LIMIT);
  }

  private GenericContainer<?> pages(String page) {
    return container("exec " + PAGES)
        .withExposedPorts(8080)
        .withCopyToContainer(Transferable.of(page), "/index.html")
        .waitingFor(Wait.forHttp("/index.html").forPort(8080));
  }

  private static String get(GenericContainer<?> pages) throws Exception {
    URI address =
        URI.create("http://%s:%d/index.html".formatted(pages.getHost(), pages.getMappedPort(8080)));
    try (InputStream body = address.toURL().openStream()) {
      return new String(body.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private void page() throws Exception {
    try (GenericContainer<?> pages = pages("hello").withEnv("A", "b").withLabel("team", "blue")) {
      pages.start();
      assertThat(get(pages)).isEqualTo("hello");
      assertThat(pages.isRunning()).isTrue();
      assertThat(pages.getContainerInfo().getConfig().getLabels()).containsEntry("team", "blue");
      assertThat(pages.execInContainer("sh", "-c", "echo $A").getStdout()).isEqualTo("b\n");
      pages.stop();
      assertThat(pages.isRunning()).isFalse();
    }
  }

  private void aliases() throws Exception {
    try (Network network = Network.newNetwork();
        GenericContainer<?> pages =
            pages("stored").withNetwork(network).withNetworkAliases("store", "warehouse");
        GenericContainer<?> client =
            container("exec sleep 300").withNetwork(network).dependsOn(pages)) {
      client.start();
      for (String name : List.of("store", "warehouse")) {
        ExecResult read =
            client.execInContainer("wget", "-q", "-O", "-", "http://" + name + ":8080/index.html");
        assertThat(read.getStdout()).as(read.getStderr()).isEqualTo("stored");
      }
      assertThat(get(pages)).isEqualTo("stored");
    }
  }

  private void files() throws Exception {
    Path tree = Files.createDirectories(directory.resolve("tree/deep")).getParent();
    Files.writeString(tree.resolve("deep/file"), "deep");
    try (GenericContainer<?> container =
        container("exec sleep 300")
            .withCopyFileToContainer(MountableFile.forHostPath(tree), "/before")) {
      container.start();
      container.copyFileToContainer(MountableFile.forHostPath(tree, 0755), "/after");
      container.copyFileToContainer(Transferable.of("text", 0640), "/tmp/text");
      assertThat(container.execInContainer("cat", "/before/deep/file", "/after/deep/file"))
          .extracting(ExecResult::getStdout)
          .isEqualTo("deepdeep");
      assertThat(container.execInContainer("stat", "-c", "%a", "/tmp/text").getStdout())
          .isEqualTo("640\n");
      Path back = directory.resolve("back");
      container.copyFileFromContainer("/after/deep/file", back.toString());
      assertThat(back).hasContent("deep");
    }
  }

  private void waiting() {
    try (GenericContainer<?> line =
            container("echo one; echo ready; exec sleep 300")
                .waitingFor(Wait.forLogMessage(".*ready.*\\n", 1));
        GenericContainer<?> port =
            container("exec " + PAGES).withExposedPorts(8080).waitingFor(Wait.forListeningPort());
        GenericContainer<?> command =
            container("touch /tmp/up; exec sleep 300")
                .waitingFor(Wait.forSuccessfulCommand("test -e /tmp/up"));
        GenericContainer<?> health =
            container("exec sleep 300")
                .withCreateContainerCmdModifier(
                    create ->
                        create.withHealthcheck(
                            new HealthCheck()
                                .withTest(List.of("CMD", "true"))
                                .withInterval(TimeUnit.SECONDS.toNanos(1))))
                .waitingFor(Wait.forHealthcheck())) {
      for (GenericContainer<?> container : List.of(line, port, command, health)) {
        container.start();
      }
      assertThat(health.isHealthy()).isTrue();
    }
    try (GenericContainer<?> never =
        container("echo no; exec sleep 300")
            .waitingFor(
                Wait.forLogMessage(".*yes.*", 1).withStartupTimeout(Duration.ofSeconds(2)))) {
      assertThatThrownBy(never::start).isInstanceOf(ContainerLaunchException.class);
    }
  }

  private void process() throws Exception {
    try (GenericContainer<?> container = container("exec sleep 300")) {
      container.start();
      ExecResult result = container.execInContainer("sh", "-c", "echo out; echo err >&2; exit 3");
      assertThat(result.getExitCode()).isEqualTo(3);
      assertThat(result.getStdout()).isEqualTo("out\n");
      assertThat(result.getStderr()).isEqualTo("err\n");
      var asUser = ExecConfig.builder().user("1000").command(new String[] {"id", "-u"}).build();
      assertThat(container.execInContainer(asUser).getStdout()).isEqualTo("1000\n");
    }
  }

  private void output() throws Exception {
    try (GenericContainer<?> container =
        container("i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i+1)); done; exec sleep 300")) {
      var consumer = new WaitingConsumer();
      container.withLogConsumer(consumer);
      container.start();
      consumer.waitUntil(frame -> frame.getUtf8String().contains("line 99"), 20, TimeUnit.SECONDS);
      assertThat(container.getLogs(OutputFrame.OutputType.STDOUT).lines()).hasSize(100);
      assertThat(container.getLogs(OutputFrame.OutputType.STDERR)).isEmpty();
    }
  }

  private void once() {
    try (GenericContainer<?> good =
            container("exit 0").withStartupCheckStrategy(new OneShotStartupCheckStrategy());
        GenericContainer<?> bad =
            container("exit 4").withStartupCheckStrategy(new OneShotStartupCheckStrategy())) {
      good.start();
      assertThat(good.getCurrentContainerInfo().getState().getExitCodeLong()).isZero();
      assertThatThrownBy(bad::start).isInstanceOf(ContainerLaunchException.class);
    }
  }

  private void built() throws Exception {
    var built =
        new ImageFromDockerfile()
            .withFileFromString("page", "built")
            .withDockerfileFromBuilder(
                file -> file.from(image).copy("page", "/index.html").cmd(PAGES).build());
    try (GenericContainer<?> pages =
        new GenericContainer<>(built).withExposedPorts(8080).withStartupTimeout(LIMIT)) {
      pages.start();
      assertThat(get(pages)).isEqualTo("built");
    }
    // without Ryuk only untagged images are pruned
    DockerClientFactory.instance().client().removeImageCmd(built.get()).exec();
  }

  private void compose() throws Exception {
    Path file =
        Files.writeString(
            directory.resolve("compose.yaml"),
            """
            services:
              web:
                image: %s
                pull_policy: never
                init: true
                command: [sh, -c, "echo ready; exec sleep 300"]
            """
                .formatted(image));
    try (ComposeContainer project =
        new ComposeContainer(file.toFile())
            .withPull(false)
            .waitingFor("web", Wait.forLogMessage(".*ready.*", 1).withStartupTimeout(LIMIT))) {
      project.start();
      assertThat(project.getContainerByServiceName("web-1").orElseThrow().isRunning()).isTrue();
    }
  }

  /** Removed by label when this process ends, in order: containers, networks, volumes, images. */
  private void left() {
    Network network = Network.newNetwork();
    GenericContainer<?> container = container("exec sleep 300").withNetwork(network);
    container.start();
    assertThat(container.isRunning()).isTrue();
  }
}
