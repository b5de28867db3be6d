package dev.zlayer.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class OptionsTest {
  private static Options parse(String... words) {
    var all = new java.util.ArrayList<>(List.of("--directory=/d", "--control-group=g"));
    all.addAll(List.of(words));
    return Options.parse(all.toArray(String[]::new), List.of("run", "exec"));
  }

  @Test
  void everythingTakesPartUnlessToldOtherwise() {
    assertThat(parse().works()).containsExactly("run", "exec");
    assertThat(parse().peers()).containsExactly("containerd", "docker", "podman", "floor");
    assertThat(parse().size(200, 16)).isEqualTo(200);
  }

  @Test
  void aSmokeTestDoesNextToNothingAndAlone() {
    assertThat(parse("--smoke").peers()).isEmpty();
    assertThat(parse("--smoke").size(200, 16)).isEqualTo(2);
    assertThat(parse("--smoke").size(5, 1)).isOne();
    assertThat(parse("--smoke").warm(5)).isZero();
    assertThat(parse("--quick").size(200, 16)).isEqualTo(16);
  }

  @Test
  void peersAreWrittenWithASpaceOrAnEqualsSign() {
    assertThat(parse("--peers", "docker,floor", "run").peers()).containsExactly("docker", "floor");
    assertThat(parse("--peers=docker", "run").works()).containsExactly("run");
    assertThat(parse("--quick", "--peers=none").peers()).isEmpty();
  }

  @Test
  void sizesCanBeGiven() {
    Options options = parse("--containers=50", "--events=7", "run");

    assertThat(options.works()).containsExactly("run");
    assertThat(options.size("containers", 1000, 100)).isEqualTo(50);
    assertThat(options.size("events", 1000, 100)).isEqualTo(7);
    assertThat(options.size("jobs", 64, 8)).isEqualTo(64);
    assertThat(parse("--quick").size("jobs", 64, 8)).isEqualTo(8);
    assertThatThrownBy(() -> parse("--jobs=many")).hasMessageContaining("write a whole number");
  }

  @Test
  void whatTakesAnHourHasToBeNamed() {
    List<String> known = List.of("run", "soak");
    String[] place = {"--directory=/d", "--control-group=g"};
    String[] smoke = {"--directory=/d", "--control-group=g", "--smoke"};
    String[] named = {"--directory=/d", "--control-group=g", "--minutes=3", "soak"};

    assertThat(Options.parse(place, known).works()).containsExactly("run");
    assertThat(Options.parse(smoke, known).works()).containsExactly("run", "soak");
    assertThat(Options.parse(named, known).works()).containsExactly("soak");
    assertThat(Options.parse(named, known).size("minutes", 60, 5)).isEqualTo(3);
  }

  @Test
  void unknownWordsAreRefused() {
    assertThatThrownBy(() -> parse("--peers=dockr")).hasMessageContaining("'dockr' is no peer");
    assertThatThrownBy(() -> parse("--peers")).hasMessageContaining("is no peer");
    assertThatThrownBy(() -> parse("rum")).hasMessageContaining("'rum' is no work");
  }
}
