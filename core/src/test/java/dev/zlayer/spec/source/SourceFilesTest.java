package dev.zlayer.spec.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.DeploymentSpec;
import dev.zlayer.spec.read.SpecReader;
import dev.zlayer.spec.read.SpecResult;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SourceFilesTest {
  private static final String BASE =
      """
      version: v1
      deployment: shop
      services:
        web:
          image: web:${TAG:-1}
          env: {A: one, B: two}
          command: [sh, -c, "echo ${TAG:-of the shell}"]
          scale: {mode: fixed, replicas: 1}
      """;

  private static SourceFiles.Resolved resolve(
      Map<String, String> variables, Set<String> profiles, String... files) {
    var sources = new ArrayList<SourceFiles.Source>();
    for (String file : files) {
      sources.add(
          new SourceFiles.Source("f" + sources.size(), file.getBytes(StandardCharsets.UTF_8)));
    }
    return SourceFiles.resolve(sources, variables, profiles);
  }

  private static DeploymentSpec spec(SourceFiles.Resolved resolved) {
    SpecResult result = resolved.check();
    assertThat(result).isInstanceOf(SpecResult.Valid.class);
    SpecResult again = SpecReader.read("written", resolved.text());
    assertThat(((SpecResult.Valid) again).spec())
        .as("what is sent is what was checked")
        .isEqualTo(((SpecResult.Valid) result).spec());
    return ((SpecResult.Valid) result).spec();
  }

  @Test
  void aFileWithoutVariablesStaysAsItIs() {
    String plain = "# comment\nversion: v1\ndeployment: x\n";
    assertThat(new String(resolve(Map.of(), Set.of(), plain).text(), StandardCharsets.UTF_8))
        .isEqualTo(plain);
  }

  @Test
  void variablesAreReplacedButNotInCommands() {
    DeploymentSpec usual = spec(resolve(Map.of(), Set.of(), BASE));
    assertThat(usual.services().get("web").image().toString()).contains("web:1");

    DeploymentSpec set = spec(resolve(Map.of("TAG", "7"), Set.of(), BASE));
    assertThat(set.services().get("web").image().toString()).contains("web:7");
    assertThat(set.services().get("web").command().toString()).contains("${TAG:-of the shell}");
  }

  @Test
  void laterFilesWinKeyByKeyAndNullRemoves() {
    String over =
        """
        services:
          web:
            env: {B: three, C: four, A: null}
            scale: {replicas: "${COUNT}"}
          more: {image: more:1}
        """;
    DeploymentSpec spec = spec(resolve(Map.of("COUNT", "3"), Set.of(), BASE, over));

    assertThat(spec.services()).containsOnlyKeys("web", "more");
    assertThat(spec.services().get("web").env().keySet()).containsExactly("B", "C");
    assertThat(spec.services().get("web").toString()).contains("replicas=3");
  }

  @Test
  void servicesOfOtherProfilesAreLeftOut() {
    String profiled =
        """
        version: v1
        deployment: shop
        services:
          web: {image: web:1}
          debug: {image: debug:1, profiles: [debug, all]}
        """;
    assertThat(spec(resolve(Map.of(), Set.of(), profiled)).services()).containsOnlyKeys("web");
    assertThat(spec(resolve(Map.of(), Set.of("all"), profiled)).services())
        .containsOnlyKeys("web", "debug");
    assertThatThrownBy(() -> resolve(Map.of(), Set.of(), profiled.replace("[debug, all]", "all")))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("line 5: profiles is a list of names, not text");
  }

  @Test
  void everyMissingVariableIsReportedWithItsPlace() {
    String missing =
        """
        version: v1
        deployment: shop
        services:
          web:
            image: web:${TAG}
            env: {A: "${B:?set it to a number}", C: "${D"}
        """;
    assertThatThrownBy(() -> resolve(Map.of(), Set.of(), missing))
        .isInstanceOf(AgentException.InvalidSpec.class)
        .hasMessageContaining("f0:5:12")
        .hasMessageContaining("services.web.image")
        .hasMessageContaining("variable TAG is not set; write ${TAG:-DEFAULT}")
        .hasMessageContaining("variable B is not set: set it to a number")
        .hasMessageContaining("'${' without '}'");
  }

  @Test
  void dollarsAndReferencesOfTheAgentStay() {
    String file =
        """
        version: v1
        deployment: shop
        services:
          web:
            image: web:1
            env: {A: "$${LITERAL}", B: "x${S:secret}y", C: "$$5 ${X:+set}", D: "${X:-}", E: "$HOME"}
        """;
    String text =
        new String(resolve(Map.of("X", "1"), Set.of(), file).text(), StandardCharsets.UTF_8);
    assertThat(text)
        .contains("\"A\": \"${LITERAL}\"")
        .contains("\"B\": \"x${S:secret}y\"")
        .contains("\"C\": \"$$5 set\"")
        .contains("\"D\": 1")
        .contains("\"E\": \"$HOME\"");
    assertThat(new String(resolve(Map.of(), Set.of(), file).text(), StandardCharsets.UTF_8))
        .contains("\"D\": \"\"");
  }

  @Test
  void problemsAfterTheVariablesKeepTheirPlaces() {
    String wrong = BASE.replace("replicas: 1", "replicas: \"${N}\"");
    SpecResult result = resolve(Map.of("N", "many"), Set.of(), wrong).check();

    assertThat(((SpecResult.Invalid) result).problems())
        .anySatisfy(problem -> assertThat(problem.line()).isEqualTo(8));
  }
}
