package dev.zlayer.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class FreePortsTest {
  @Test
  void eachIsAnotherOneThatTheKernelGivesToNobody() throws Exception {
    List<Integer> ports = Stream.generate(FreePorts::take).limit(50).toList();
    int[] others = FreePorts.chosenByKernel();

    assertThat(ports).doesNotHaveDuplicates();
    assertThat(ports).noneMatch(port -> port >= others[0] && port <= others[1]);
  }
}
