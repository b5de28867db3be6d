package dev.zlayer.cli.print;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cli.client.Output;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class TablesTest {
  private static final Instant NOW = Instant.parse("2026-11-15T08:00:00Z");

  @Test
  void containersWithTheCodeBehindTheState() {
    Json container =
        JsonText.parse(
            """
            {"id": "web-1", "name": "shop/web/1", "image": "web:1", "state": "exited",
             "exit": {"code": 3}, "restarts": 2, "started": "2026-11-15T07:57:00Z",
             "ports": [{"host_ip": "0.0.0.0", "host_port": 8080, "container_port": 80}]}
            """);

    assertThat(ContainerTable.of(List.of(container), NOW, Style.PLAIN))
        .isEqualTo(
            """
            NAME        IMAGE  STATE       RESTARTS  AGE  PORTS
            shop/web/1  web:1  exited (3)  2         3m   8080->80/tcp
            """);
  }

  @Test
  void coloursDoNotMoveColumns() {
    Table plain = new Table("A", "B").row("running", "x");
    Table coloured = new Table("A", "B").row(Style.of(true).state("running"), "x");

    assertThat(coloured.toString()).contains("\033[32mrunning\033[0m  x");
    assertThat(coloured.toString().replaceAll("\033\\[[0-9]*m", "")).isEqualTo(plain.toString());
  }

  @Test
  void whatIsUsedWithShares() {
    Json reading =
        JsonText.parse(
            "{\"name\":\"a\",\"cpu_percent\":12.34,\"memory_bytes\":1048576,"
                + "\"memory_limit_bytes\":4194304,\"pids\":3}");

    assertThat(StatsTable.of(List.of(reading)))
        .contains("12.3")
        .contains("1.0 MiB")
        .contains("25.0");
  }

  @Test
  void eventsOnOneLine() {
    Json event =
        JsonText.parse(
            "{\"seq\":7,\"time\":\"2026-11-15T08:00:00Z\",\"kind\":\"job.failed\",\"subject\":\"x\",\"facts\":{\"code\":3,\"reason\":\"no"
                + " luck\"}}");

    assertThat(EventLines.of(event, Style.PLAIN))
        .isEqualTo("7 2026-11-15T08:00:00Z job.failed x code=3 reason=\"no luck\"");
  }

  @Test
  void aFailureIsToldByItsMessage() {
    Json event =
        JsonText.parse(
            "{\"seq\":7,\"time\":\"t\",\"kind\":\"service.failed\",\"subject\":\"shop/web\",\"facts\":{\"failure\":{\"kind\":\"Network\",\"message\":\"no"
                + " way\",\"last_lines\":[]}}}");

    assertThat(EventLines.of(event, Style.PLAIN))
        .isEqualTo("7 t service.failed shop/web failure=\"no way\"");
  }

  @Test
  void replicasStandInTheOrderOfTheirNumbersAndSingleOnesAsTheyCame() {
    List<Json> containers =
        Stream.of("run-b", "shop/web/10@3", "shop/web/2@9", "run-a", "shop/api/1@1")
            .map(name -> Json.object().put("name", name).build())
            .map(Json.class::cast)
            .toList();

    for (String table :
        List.of(ContainerTable.of(containers, NOW, Style.PLAIN), StatsTable.of(containers))) {
      assertThat(table.lines().skip(1).map(line -> line.split(" ")[0]))
          .containsExactly("shop/api/1", "shop/web/2", "shop/web/10", "run-b", "run-a");
    }
  }

  @Test
  void aPartThatNoPackageHasIsJustAbsent() {
    assertThat(
            InfoText.of(
                JsonText.parse(
                    "{\"parts\":[{\"name\":\"youki\",\"purpose\":\"run\"},"
                        + "{\"name\":\"runc\",\"purpose\":\"run\",\"package\":\"runc\"}]}")))
        .containsPattern("(?m)^youki .*absent$")
        .containsPattern("(?m)^runc .*absent: install runc$");
  }

  @Test
  void endsAsAShellShowsThem() {
    assertThat(Outcomes.exitCode(JsonText.parse("{\"code\":7}"))).isEqualTo(7);
    assertThat(Outcomes.exitCode(JsonText.parse("{\"signal\":\"SIGTERM\"}"))).isEqualTo(143);
    assertThat(Outcomes.exitCode(JsonText.parse("{\"oom\":true}"))).isEqualTo(137);
    assertThat(Outcomes.exitCode(JsonText.parse("{}"))).isEqualTo(3);
  }

  @Test
  void linesOfSeveralContainersStandBehindTheirNames() {
    var out = new ByteArrayOutputStream();
    var err = new ByteArrayOutputStream();
    var printer =
        new LogPrinter(
            new PrintStream(out, true, StandardCharsets.UTF_8),
            new PrintStream(err, true, StandardCharsets.UTF_8),
            false,
            true);
    var shorter = printer.source("web/1");
    var longer = printer.source("worker/1");
    Json line = JsonText.parse("{\"time\":\"2026-11-15T08:00:00Z\",\"text\":\"hi\"}");

    shorter.print(Output.of(line));
    longer.print(Output.of(JsonText.parse("{\"stream\":\"stderr\",\"bytes\":\"AAH/\"}")));

    assertThat(out.toString(StandardCharsets.UTF_8))
        .isEqualTo("web/1    | 2026-11-15T08:00:00Z hi\n");
    assertThat(err.toByteArray()).endsWith(new byte[] {0, 1, (byte) 0xff, '\n'});
  }

  @Test
  void onlyOurOwnColoursReachATerminal() {
    String hostile = "a\033[2Jb\rc\u009b1md\u202ee\177";
    String shown = "a\\u001b[2Jb\\u000dc\\u009b1md\\u202ee\\u007f";

    assertThat(TerminalText.escapeLine(hostile + "\n\t")).isEqualTo(shown + "\\u000a\\u0009");
    assertThat(TerminalText.escape(hostile + "\n\t")).isEqualTo(shown + "\n\t");
    assertThat(TerminalText.escapeExceptColours("\033[32m" + hostile + "\033[0m"))
        .isEqualTo("\033[32m" + shown + "\033[0m");
    assertThat(new Table("A", "B").row("x\ny", hostile).toString().lines()).hasSize(2);

    var out = new ByteArrayOutputStream();
    var screen = new LiveScreen(new PrintStream(out, true, StandardCharsets.UTF_8));
    screen.above(List.of(hostile));
    assertThat(out.toString(StandardCharsets.UTF_8)).isEqualTo("\033[2K" + shown + "\n\033[J");

    var printed = new ByteArrayOutputStream();
    PrintStream stream = TerminalText.escaping(new PrintStream(printed), false);
    stream.printf("%s%n", hostile);
    stream.println((Object) hostile);
    stream.print("\033[32mgreen");
    stream.write('\033');
    stream.flush();
    assertThat(printed.toString(StandardCharsets.UTF_8))
        .isEqualTo(shown + "\n" + shown + "\n\\u001b[32mgreen\033");
  }

  @Test
  void aLiveScreenDrawsOverItselfAndKeepsWithinTheWindow() {
    var out = new ByteArrayOutputStream();
    var screen = new LiveScreen(new PrintStream(out, true, StandardCharsets.UTF_8));

    screen.draw(List.of("one", "two", "three"), 3, 80);
    screen.draw(List.of("longer than the window"), 3, 6);

    assertThat(out.toString(StandardCharsets.UTF_8))
        .isEqualTo("\033[2Kone\n\033[2Ktwo\n\033[J\033[2A\033[2Klonger\n\033[J");
  }

  @Test
  void aDeploymentWithItsReplicasAndLastErrors() {
    Json status =
        JsonText.parse(
            """
            {"name": "shop", "state": "degraded", "revision": 4, "services": [
              {"name": "web", "state": "degraded", "ready": 1, "wanted": 2,
               "replicas": [{"replica": 1, "state": "running", "health": {"state": "healthy"},
                             "restarts": 0, "started": "2026-11-15T07:00:00Z"}],
               "last_error": {"message": "exited with code 3", "last_lines": ["no config"]}}],
             "jobs": []}
            """);

    assertThat(StatusText.of(status, NOW, Style.PLAIN))
        .contains("deployment 'shop', degraded, revision 4")
        .contains("1/2")
        .contains("healthy")
        .contains("web: exited with code 3\n  no config");
  }

  @Test
  void aStatusSaysWhyARevisionWasRolledBackAndWhyAJobFailed() {
    Json status =
        JsonText.parse(
            """
            {"name": "shop", "state": "failed", "revision": 2,
             "services": [{"name": "web", "state": "running", "ready": 1, "wanted": 1,
               "rollout": {"revision": 2, "rolled_back_to": 1,
                 "reason": {"message": "exit code 7", "last_lines": ["no such table"]}}}],
             "jobs": [{"name": "migrate",
               "last_error": {"message": "exit code 9", "last_lines": ["oops"]}}]}
            """);

    assertThat(StatusText.of(status, NOW, Style.PLAIN))
        .contains("web: revision 2 was rolled back to 1: exit code 7\n  no such table\n")
        .contains("migrate: exit code 9\n  oops\n");
  }
}
