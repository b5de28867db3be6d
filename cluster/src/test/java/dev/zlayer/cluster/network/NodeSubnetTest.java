package dev.zlayer.cluster.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class NodeSubnetTest {
  private static final NodeSubnet RANGE = NodeSubnet.parse("10.192.0.0/10");

  @Test
  void everyNodeGetsAPartOfItsOwnUntilNoneIsLeft() {
    var taken = new ArrayList<NodeSubnet>();
    for (int node = 0; node < 512; node++) {
      NodeSubnet next = RANGE.allocate(19, taken).orElseThrow();
      assertThat(taken).noneMatch(next::overlaps);
      assertThat(RANGE.overlaps(next)).isTrue();
      taken.add(next);
    }

    assertThat(taken).startsWith(NodeSubnet.parse("10.192.0.0/19"));
    assertThat(taken).endsWith(NodeSubnet.parse("10.255.224.0/19"));
    assertThat(RANGE.allocate(19, taken)).isEmpty();
    taken.remove(7);
    assertThat(RANGE.allocate(19, taken)).contains(NodeSubnet.parse("10.192.224.0/19"));
  }

  @Test
  void networksThatAHostUsesOtherwiseAreLeftOut() {
    assertThat(RANGE.allocate(19, List.of(NodeSubnet.parse("10.192.0.0/15"))))
        .isEqualTo(Optional.of(NodeSubnet.parse("10.194.0.0/19")));
  }

  @Test
  void theAddressesOfANodeFollowFromItsSubnet() {
    NodeSubnet subnet = NodeSubnet.parse("10.255.224.0/19");

    assertThat(subnet.first()).isEqualTo("10.255.224.0");
    assertThat(subnet.mac()).isEqualTo("0a:58:0a:ff:e0:00");
    assertThat(subnet).hasToString("10.255.224.0/19");
  }

  @Test
  void whatIsNoNetworkIsRefused() {
    for (String text : List.of("10.0.0.1/8", "10.0.0.0", "10.0.0.0/33", "::/8")) {
      assertThatThrownBy(() -> NodeSubnet.parse(text)).as(text).hasMessageContaining("not");
    }
    assertThatThrownBy(() -> RANGE.allocate(9, List.of())).hasMessageContaining("/9");
  }
}
