package dev.zlayer.spec.read;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.oci.PullPolicy;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.job.CronSpec;
import dev.zlayer.spec.service.HealthSpec;
import dev.zlayer.spec.service.ScaleSpec;
import java.time.Duration;
import java.time.ZoneId;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class SpecReaderTest {
  private static final String SMALLEST =
      """
      version: v1
      deployment: shop
      services:
        web:
          image: {name: nginx}
      """;

  @Test
  void defaultsAreThoseOfTheReference() {
    var web = SpecFiles.valid(SMALLEST).spec().services().get("web");
    assertThat(web.rtype()).isEqualTo(RunType.SERVICE);
    assertThat(web.image().pullPolicy()).isEqualTo(PullPolicy.IF_NOT_PRESENT);
    assertThat(web.lifecycle().scale())
        .isInstanceOfSatisfying(
            ScaleSpec.Adaptive.class,
            scale -> {
              assertThat(List.of(scale.min(), scale.max())).containsExactly(1, 10);
              assertThat(scale.cooldown()).isEqualTo(Duration.ofSeconds(30));
            });
    assertThat(web.lifecycle().health()).isEmpty();
    assertThat(web.lifecycle().update().surge()).isEqualTo(1);
    assertThat(web.lifecycle().update().unavailable()).isZero();
    assertThat(web.lifecycle().errors().onInitFailure().retries()).isEqualTo(3);
    assertThat(web.job().concurrency()).isEqualTo(10);
    assertThat(web.job().maxLogSize().bytes()).isEqualTo(1 << 20);
    assertThat(web.job().retention().age()).isEqualTo(Duration.ofHours(1));
    assertThat(web.cron().timezone()).isEqualTo(ZoneId.of("UTC"));
    assertThat(web.cron().overlap()).isEqualTo(CronSpec.Overlap.FORBID);
    assertThat(web.logs().maxSizeBytes().bytes()).isEqualTo(104_857_600);
  }

  @Test
  void healthBlockFillsItsOwnDefaults() {
    var web =
        SpecFiles.valid(SMALLEST + "    health: {check: {type: tcp, port: 80}}\n")
            .spec()
            .services()
            .get("web");
    HealthSpec health = web.lifecycle().health().orElseThrow();
    assertThat(health.startGrace()).isEqualTo(Duration.ofSeconds(5));
    assertThat(health.interval()).isEqualTo(Duration.ofSeconds(10));
    assertThat(health.retries()).isEqualTo(3);
    assertThat(health.onUnhealthy()).isEqualTo(HealthSpec.OnUnhealthy.RESTART);
  }

  @Test
  void nullIsTheSameAsAbsent() {
    var web =
        SpecFiles.valid(SMALLEST + "    schedule:\n    depends: ~\n    health: null\n")
            .spec()
            .services()
            .get("web");
    assertThat(web.schedule()).isEmpty();
    assertThat(web.lifecycle().depends()).isEmpty();
  }

  @Test
  void mergesFillWhatIsNotWritten() {
    var spec =
        SpecFiles.valid(
                """
                version: v1
                deployment: shop
                services:
                  one: &one
                    image: {name: nginx}
                    env: &env {A: a, B: b}
                    hostname: one
                  two:
                    <<: *one
                    hostname: two
                    env: {<<: [*env, {C: c, A: never}], B: mine}
                """)
            .spec();
    var two = spec.services().get("two");
    assertThat(two.image()).isEqualTo(spec.services().get("one").image());
    assertThat(two.networking().hostname()).contains("two");
    assertThat(two.env().keySet()).containsExactlyInAnyOrder("A", "B", "C");
    assertThat(two.env().get("A").literal()).contains("a");
    assertThat(two.env().get("B").literal()).contains("mine");
  }

  @Test
  void aCheckOfTheFirstEndpointWithoutOneIsAWarning() {
    var valid = SpecFiles.valid(SMALLEST + "    health: {check: {type: tcp, port: 0}}\n");
    assertThat(valid.warnings()).hasSize(1);
    assertThat(valid.warnings().getFirst().toString())
        .startsWith("test.zlayer.yml:6:5: services.web.health: port 0 means");
  }

  @Test
  void whatAJobCannotUseIsAWarning() {
    var valid =
        SpecFiles.valid(
            SMALLEST.replace("web:\n", "web:\n    rtype: job\n    scale: {mode: manual}\n"));
    assertThat(valid.warnings())
        .extracting(problem -> problem.path())
        .containsExactly("services.web.scale");
  }

  @Test
  void aProblemInARunTypeDoesNotCauseOthers() {
    assertThat(
            SpecFiles.problems(
                SMALLEST.replace(
                    "web:\n", "web:\n    rtype: corn\n    schedule: \"@daily\"\n    job: {}\n")))
        .containsExactly(
            "test.zlayer.yml:5:12: services.web.rtype: 'corn' is not known, did you mean 'cron'?");
  }

  @Test
  void numbersOfWindowsLineEndingsAndTabsAreRight() {
    assertThat(SpecFiles.problems("version: v1\r\ndeployment: shop\r\nservces: {}\r\n"))
        .containsExactly("test.zlayer.yml:3:1: servces: unknown key, did you mean 'services'?");
    assertThat(SpecFiles.problems("version: v1\ndeployment: \"äöü💥\"\n").getFirst())
        .startsWith("test.zlayer.yml:2:13: deployment: ");
    assertThat(SpecFiles.problems("version: v1\n{deployment: 💥, x: 1}").getFirst())
        .startsWith("test.zlayer.yml:");
  }

  @Test
  void shorthandsMeanTheirFirstKey() {
    var job =
        SpecFiles.valid(
                SMALLEST.replace("web:\n", "web:\n    rtype: job\n")
                    + "    job: {backoff: 5s, retention: 10m}\n    command: [a, b]\n")
            .spec()
            .services()
            .get("web");
    assertThat(job.job().backoff().initial()).isEqualTo(Duration.ofSeconds(5));
    assertThat(job.job().retention().age()).isEqualTo(Duration.ofMinutes(10));
    assertThat(job.command().args()).isEqualTo(Optional.of(List.of("a", "b")));
    assertThat(job.command().entrypoint()).isEmpty();
  }
}
