package dev.zlayer.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class SamplesTest {
  @Test
  void theMedianIsAValueThatWasMeasured() {
    assertThat(new Samples(List.of(9.0, 1.0, 5.0)).median()).isEqualTo(5.0);
    assertThat(new Samples(List.of(9.0, 1.0, 5.0, 2.0)).median()).isEqualTo(2.0);
    assertThat(Samples.of(3).median()).isEqualTo(3.0);
    assertThat(new Samples(List.of()).median()).isNaN();
  }

  @Test
  void oneInTwentyIsAboveP95() {
    var samples = new Samples(IntStream.rangeClosed(1, 100).mapToObj(i -> (double) i).toList());

    assertThat(samples.p95()).isEqualTo(95.0);
    assertThat(Samples.of(3).p95()).isEqualTo(3.0);
  }
}
