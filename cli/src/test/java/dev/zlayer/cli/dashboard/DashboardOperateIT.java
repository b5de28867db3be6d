package dev.zlayer.cli.dashboard;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Download;
import com.microsoft.playwright.Locator;
import dev.zlayer.cli.CliFixture;
import dev.zlayer.testkit.Fact;
import dev.zlayer.testkit.Requires;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Dependencies, checks, changed files, schedules, artifacts and what is unused, in a real browser.
 */
class DashboardOperateIT extends DashboardFixture {
  private static void applied(CliFixture.Result result) {
    assertThat(result.code()).as(result.out() + result.err()).isZero();
  }

  @Test
  void whoWaitsForWhomIsAPicture() throws IOException {
    applied(
        up(
            "graph",
            """
            version: v1
            deployment: graph
            services:
              db:
                image: {name: "bb:1"}
                command: %1$s
                health: {check: {type: command, command: "echo ready"}, interval: 1s}
              web:
                image: {name: "bb:1"}
                command: %1$s
                depends: [db, {service: schema, condition: completed}]
              schema:
                rtype: job
                image: {name: "bb:1"}
                command: ["true"]
                depends: [db]
            """
                .formatted(COMMAND)));
    view("deployments/graph");
    Locator picture = main().locator(".graph svg");

    assertThat(picture.locator(".node")).hasCount(3);
    assertThat(picture.locator(".edge")).hasCount(3);
    assertThat(picture)
        .hasAttribute(
            "aria-label",
            "schema waits for db to be healthy; web waits for db to be healthy; web waits for"
                + " schema to be completed");
    assertThat(picture.locator(".node.good", hasText("db"))).hasCount(1);
    main().locator("summary", hasText("Health checks of graph/db/1")).click();
    assertThat(main().getByLabel("Health checks").first())
        .containsText(Pattern.compile("healthy [0-9]+ checks?, the last .* exit code 0: ready"));
    main().locator("section[aria-label=db] li a").first().click();
    // until then the picture is there, with those of several replicas
    assertThat(main().locator("h2", hasText("Health checks"))).isVisible();
    assertThat(main().getByLabel("Health checks")).containsText("exit code 0: ready");
    daemon.ok("down", "graph");
  }

  private static Locator.LocatorOptions hasText(String text) {
    return new Locator.LocatorOptions().setHasText(text);
  }

  @Test
  void changedFilesAreListed() {
    daemon.ok("run", "-d", "--name", "writer", "bb:1", "sh", "-c", "echo x > /written; " + SCRIPT);
    view("containers");
    dashboard.follow("writer");
    button("Show changed files").click();

    assertThat(main().getByLabel("Changed files")).containsText("/written");
    assertThat(main()).containsText("zlayer container diff writer");
    daemon.ok("rm", "-f", "writer");
  }

  @Test
  void whatIsUnusedIsShownBeforeItIsRemoved() {
    daemon.ok("image", "tag", "bb:1", "bb:unused");
    daemon.ok("run", "--name", "ended", "bb:1", "true");
    daemon.ok("run", "-d", "--name", "busy", "bb:1", "sh", "-c", SCRIPT);
    daemon.ok("volume", "create", "idle");
    view("disk");
    Locator preview = main().getByLabel("Preview");

    assertThat(preview).containsText("container ended");
    assertThat(preview).not().containsText("volume idle");
    main().getByLabel("volumes").check();
    assertThat(preview).containsText("volume idle");
    act("Remove all of these", "zlayer system prune --volumes");
    assertThat(preview).containsText("Nothing would be removed");
    assertThat(daemon.ok("ps", "--all")).contains("busy").doesNotContain("ended");
    assertThat(daemon.ok("volume", "ls")).doesNotContain("idle");
    daemon.ok("rm", "-f", "busy");
    daemon.ok("image", "rm", "bb:unused");
  }

  @Test
  void schedulesHaveACalendarThatExplainsWhatWasSkipped() throws IOException {
    applied(
        up(
            "plan",
            """
            version: v1
            deployment: plan
            services:
              report:
                rtype: cron
                schedule: "0 30 9 * * *"
                cron: {timezone: America/New_York}
                image: {name: "bb:1"}
                command: ["true"]
              busy:
                rtype: cron
                schedule: "* * * * * *"
                cron: {overlap: forbid}
                image: {name: "bb:1"}
                command: [sleep, "1000"]
            """));
    view("jobs/calendar");

    assertThat(main()).containsText("09:30 America/New_York");
    assertThat(main().locator("section.day").first()).containsText("plan/busy");
    assertThat(main().getByLabel("Not run"))
        .containsText(Pattern.compile("plan/busy: [0-9]+ skipped"));
    assertThat(main().getByLabel("Not run")).containsText("the execution before has not ended");
    daemon.ok("down", "plan");
  }

  @Test
  void anArtifactIsDownloaded() throws IOException {
    applied(
        up(
            "make",
            """
            version: v1
            deployment: make
            services:
              build:
                rtype: job
                image: {name: "bb:1"}
                command: [sh, -c, "echo forty-two > /result"]
                job: {artifacts: [/result]}
            """));
    daemon.ok("job", "run", "--wait", "make/build");
    view("jobs");
    main().locator("ol[aria-label='Runs of make/build'] a").click();
    assertThat(main()).containsText("zlayer job artifacts make/build/1");

    Download download = page.waitForDownload(() -> dashboard.follow("/result"));

    assertThat(download.suggestedFilename()).isEqualTo("result.tar");
    assertThat(Files.readString(download.path(), StandardCharsets.ISO_8859_1))
        .contains("forty-two");
    daemon.ok("down", "make");
  }

  @Test
  @Requires(Fact.HAPROXY)
  void aRouteIsSetAsideAndItsCertificateIsShown() throws IOException {
    applied(
        up(
            "site",
            """
            version: v1
            deployment: site
            services:
              web:
                image: {name: "bb:1"}
                command: [httpd, -f, -p, "8080"]
                endpoints: [{name: web, protocol: https, port: 8080, host: site.test, tls: self_signed}]
            """));
    view("ingress");

    assertThat(main().getByLabel("Certificates")).containsText("site.test");
    assertThat(main().getByLabel("Certificates")).containsText("self_signed");
    act("Maintenance of site/web", "zlayer ingress maintenance site/web");
    assertThat(main().getByLabel("Routes")).containsText("maintenance");
    act("Resume site/web", "zlayer ingress resume site/web");
    assertThat(main().getByLabel("Routes")).containsText("serving");
    act("Pause site/web", "zlayer ingress pause site/web");
    assertThat(main().getByLabel("Routes")).containsText("paused");
    act("Resume site/web", "zlayer ingress resume site/web");
    daemon.ok("down", "site");
    assertThat(main()).containsText("No endpoint has a host or a path");
  }

  @Test
  void eventsAreFilteredAndThoseBeforeThePageAreShown() {
    daemon.ok("volume", "create", "early");
    page.reload();
    view("events");

    assertThat(main()).containsText("early");
    main().getByLabel("Kind").selectOption("volume");
    assertThat(main()).containsText("zlayer events --kind volume");
    daemon.ok("volume", "create", "later");
    assertThat(main()).containsText("later");
    assertThat(main().locator("tbody")).not().containsText("image.");
    daemon.ok("volume", "rm", "early", "later");
  }
}
