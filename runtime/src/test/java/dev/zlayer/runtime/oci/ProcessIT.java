package dev.zlayer.runtime.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.NetworkSpec;
import dev.zlayer.container.ProcessSpec;
import dev.zlayer.error.AgentException;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.testkit.image.ImageMaker;
import dev.zlayer.testkit.image.TarEntry;
import java.util.LinkedHashMap;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What runs inside, seen from inside. */
class ProcessIT extends OnStage {
  private static final ImageRef APP = ImageRef.parse("localhost/app:test");

  @BeforeAll
  void loadImage() throws Exception {
    fixture.load(
        ImageMaker.busybox()
            .layer(TarEntry.symlink("srv", "/../../../../etc"))
            .entrypoint("/bin/echo", "image-entry")
            .cmd("image-arg")
            .env("FROM_IMAGE", "1")
            .env("BOTH", "image")
            .user("app")
            .workdir("/made/by/image")
            .stopSignal("SIGUSR1")
            .make(),
        APP);
  }

  @Test
  void aUserByNameComesFromTheImagesOwnFiles() throws Exception {
    assertThat(as("app", "id -u; id -g; id -G; echo $HOME"))
        .isEqualTo("1000\n1000\n1000 50\n/home/app");
  }

  @Test
  void aUserByNumberNeedNoEntry() throws Exception {
    assertThat(as("4711", "id -u; id -g; id -G")).isEqualTo("4711\n0\n0");
    assertThat(as("4711:4712", "id -u; id -g")).isEqualTo("4711\n4712");
  }

  @Test
  void aGivenGroupReplacesTheUsersOwn() throws Exception {
    assertThat(as("app:staff", "id -g; id -G")).isEqualTo("50\n50");
  }

  @Test
  void anUnknownNameIsRefusedAndNeverRoot() {
    for (String user : List.of("nobodyknows", "app:nogroupknows", "-1", "0x0")) {
      assertThatThrownBy(() -> as(user, "id -u"))
          .isInstanceOf(AgentException.InvalidSpec.class)
          .hasMessageContaining("is not in the image's");
    }
  }

  @Test
  void extraGroupsAreAddedByNameOrNumber() throws Exception {
    var process = shell("id -G").withUser("4711").withExtraGroups(List.of("staff", "99"));
    assertThat(fixture.output(RuntimeFixture.spec().withProcess(process))).isEqualTo("0 50 99");
  }

  @Test
  void theWorkingDirectoryIsMadeInsideTheRoot() throws Exception {
    var process = shell("pwd").withWorkdir("/a/new/place");
    assertThat(fixture.output(RuntimeFixture.spec().withProcess(process)))
        .isEqualTo("/a/new/place");
    // the image's link leads to /etc of the host for whoever follows it outside
    var through = shell("pwd; ls -d /etc/zlayer-it-made").withWorkdir("/srv/zlayer-it-made");
    assertThat(fixture.output(of(APP, through.withEntrypoint("sh", "-c", "pwd"))))
        .contains("zlayer-it-made");
    assertThat(java.nio.file.Path.of("/etc/zlayer-it-made")).doesNotExist();
  }

  @Test
  void theImageTellsWhatRunsUnlessTheSpecDoes() throws Exception {
    assertThat(fixture.output(of(APP, ProcessSpec.DEFAULT))).isEqualTo("image-entry image-arg");
    assertThat(fixture.output(of(APP, ProcessSpec.DEFAULT.withArgs("mine"))))
        .isEqualTo("image-entry mine");
    assertThat(fixture.output(of(APP, ProcessSpec.DEFAULT.withEntrypoint("/bin/echo", "own"))))
        .isEqualTo("own");
    assertThat(
            fixture.output(
                of(APP, ProcessSpec.DEFAULT.withEntrypoint("/bin/echo").withArgs("own", "arg"))))
        .isEqualTo("own arg");
  }

  @Test
  void theImagesUserWorkdirAndEnvAreHonoured() throws Exception {
    var process =
        ProcessSpec.DEFAULT.withEntrypoint("sh", "-c", "id -u; pwd; echo $FROM_IMAGE $BOTH");
    assertThat(fixture.output(of(APP, process))).isEqualTo("1000\n/made/by/image\n1 image");
  }

  @Test
  void laterVariablesWin() throws Exception {
    var env = new LinkedHashMap<String, String>();
    env.put("BOTH", "spec");
    env.put("EMPTY", "");
    env.put("LINES", "a\nb=c");
    var process = ProcessSpec.DEFAULT.withEntrypoint("env").withEnv(env);
    assertThat(fixture.output(of(APP, process).withNetwork(NetworkSpec.NONE.withHostname("named"))))
        .contains("BOTH=spec", "FROM_IMAGE=1", "EMPTY=\n", "LINES=a\nb=c", "HOSTNAME=named")
        .contains("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .doesNotContain("TERM=", "JAVA_HOME", "_OCI_SYNCPIPE");
  }

  @Test
  void anInitProcessReapsAndForwards() throws Exception {
    var process =
        ProcessSpec.DEFAULT
            .withArgs(
                "sh",
                "-c",
                "cat /proc/1/comm; (sleep 0.1 & echo $! >/child); child=$(cat /child);"
                    // a zombie is there until somebody reaps it
                    + " while [ -e /proc/$child ]; do sleep 0.02; done; echo reaped; exit 7")
            .withInit(true);
    var container =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec().withProcess(process));
    container.start();
    assertThat(Runs.end(container)).isEqualTo(new ExitStatus.Code(7));
    assertThat(RuntimeFixture.text(container)).contains(".zlayer-init").endsWith("reaped");
    container.remove(false);
  }

  @Test
  void aTerminalIsOne() throws Exception {
    var process = ProcessSpec.DEFAULT.withArgs("sh", "-c", "tty; echo $TERM").withTerminal(true);
    assertThat(fixture.output(RuntimeFixture.spec().withProcess(process)))
        .contains("/dev/pts/0", "xterm");
  }

  @Test
  void withoutStdinItIsEmpty() throws Exception {
    assertThat(fixture.run(RuntimeFixture.script("read line && exit 9 || exit 4")).status())
        .isEqualTo(new ExitStatus.Code(4));
  }

  @Test
  void nothingToRunIsRefused() throws Exception {
    ImageRef bare = ImageRef.parse("localhost/bare:test");
    fixture.load(ImageMaker.scratch().layer(TarEntry.directory("etc")).make(), bare);
    assertThatThrownBy(() -> fixture.run(of(bare, ProcessSpec.DEFAULT)))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("nothing to run");
  }

  @Test
  void aMissingCommandFailsTheStartAndTheStatusTells() throws Exception {
    var container =
        fixture.runtime.create(RuntimeFixture.id(), RuntimeFixture.spec("/no/such/program"));
    assertThatThrownBy(container::start)
        .isInstanceOf(AgentException.StartFailed.class)
        .hasMessageContaining(fixture.runtime.tools().runtime().name() + " create failed")
        .message()
        .containsIgnoringCase("no such file");
    assertThat(Runs.end(container)).isInstanceOf(ExitStatus.RuntimeError.class);
    container.remove(false);
  }

  private String as(String user, String script) throws InterruptedException {
    return fixture.output(RuntimeFixture.spec().withProcess(shell(script).withUser(user)));
  }

  private static ProcessSpec shell(String script) {
    return ProcessSpec.DEFAULT.withArgs("sh", "-c", script);
  }

  private static ContainerSpec of(ImageRef image, ProcessSpec process) {
    return ContainerSpec.of(image).withNetwork(NetworkSpec.NONE).withProcess(process);
  }
}
