package dev.zlayer.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TrendTest {
  private static Trend of(DoubleUnaryOperator value) {
    return new Trend(
        IntStream.rangeClosed(0, 60)
            .mapToObj(minute -> new Trend.Point(minute * 60, value.applyAsDouble(minute)))
            .toList());
  }

  @Test
  void aLeakIsSeenWhateverTheNoise() {
    assertThat(of(minute -> 100 + minute).growth()).isCloseTo(60, within(0.01));
    assertThat(of(minute -> 100 + minute + 10 * Math.sin(minute * 7)).growth())
        .isCloseTo(60, within(10.0));
  }

  @Test
  void noiseAndOutliersAreNoGrowth() {
    assertThat(of(_ -> 40).growth()).isZero();
    assertThat(of(minute -> minute % 20 == 19 ? 4000 : 40).growth()).isZero();
    assertThat(of(minute -> 40 + 5 * Math.sin(minute * 7)).growth()).isCloseTo(0, within(2.0));
  }

  @Test
  void whatIsFilledOnceCanBeLeftOut() {
    Trend filled = of(minute -> Math.min(20, minute));

    assertThat(filled.growth()).isPositive();
    assertThat(filled.after(1.0 / 3).growth()).isZero();
    assertThat(filled.after(1.0 / 3).samples().values()).hasSize(41).containsOnly(20.0);
  }

  @Test
  void tooFewPointsTellNothing() {
    assertThat(new Trend(List.of()).growth()).isZero();
    assertThat(new Trend(List.of()).after(0.5).samples().isEmpty()).isTrue();
    assertThat(new Trend(List.of(new Trend.Point(1, 2))).growth()).isZero();
  }
}
