package dev.zlayer.cluster.member;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.cluster.etcd.EtcdUsers.Permission;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NodeRightsTest {
  private static final String OWN = "aaaaaaaaaa";
  private static final String OTHER = "bbbbbbbbbb";

  private static boolean reads(String key) {
    return rights().anyMatch(one -> covers(one, key));
  }

  private static boolean writes(String key) {
    return rights().anyMatch(one -> one.writes() && covers(one, key));
  }

  private static Stream<Permission> rights() {
    return Stream.of(NodeRights.shared(), NodeRights.own(OWN)).flatMap(List::stream);
  }

  private static boolean covers(Permission one, String key) {
    return one.prefix() ? key.startsWith(one.key()) : key.equals(one.key());
  }

  @Test
  void aNodeWritesWhatItSaysAboutItself() {
    assertThat(keysOf(OWN)).allMatch(NodeRightsTest::writes);
    assertThat(keysOf(OTHER)).noneMatch(NodeRightsTest::writes);
    assertThat(keysOf(OWN + "b")).noneMatch(NodeRightsTest::writes);
  }

  private static List<String> keysOf(String node) {
    return List.of(
        StoreKeys.alive(node),
        StoreKeys.assignment(node, "shop"),
        StoreKeys.REPORTS + node + "/shop",
        StoreKeys.NETWORKS + node + "/shop",
        StoreKeys.subnet(node),
        StoreKeys.linkKey(node),
        StoreKeys.RENEWALS + node);
  }

  /** Which any node does for those who ask it. */
  @Test
  void aNodeWritesWhatRequestsChange() {
    assertThat(
            List.of(
                StoreKeys.DESIRED + "shop",
                StoreKeys.file("shop", 1),
                StoreKeys.execution("shop", "report", 1),
                StoreKeys.result("shop", "report", 1),
                StoreKeys.number("shop", "report")))
        .allMatch(NodeRightsTest::writes);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        StoreKeys.CLUSTER,
        StoreKeys.LEADER,
        StoreKeys.MEMBERS + OWN, // would make it one that stores the state
        StoreKeys.MEMBERS + OTHER,
        StoreKeys.CERTIFICATES + OWN + "/1",
        StoreKeys.REVOKED + "1",
        StoreKeys.ADMISSION,
        StoreKeys.SCHEDULES + "shop/report",
        StoreKeys.UNPLACED + "shop",
        StoreKeys.SECRETS + "shop/-/key"
      })
  void whatTheClusterDecidesIsReadAlone(String key) {
    assertThat(reads(key)).isTrue();
    assertThat(writes(key)).isFalse();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {StoreKeys.SEALED + "shop/-/key", StoreKeys.TOKENS + "1", "/zlayer", "/other", ""})
  void theRestIsNotEvenRead(String key) {
    assertThat(reads(key)).isFalse();
  }

  @Test
  void noRightHoldsForTheStateAsAWhole() {
    assertThat(rights().filter(Permission::writes).map(Permission::key))
        .allSatisfy(key -> assertThat(StoreKeys.ALL).doesNotStartWith(key))
        .doesNotHaveDuplicates();
  }

  @Test
  void aUserBelongsToOneNode() {
    String user = NodeRights.user(OWN, "1f");
    assertThat(NodeRights.belongs(user, OWN)).isTrue();
    assertThat(NodeRights.belongs(user, OTHER)).isFalse();
    assertThat(NodeRights.belongs(NodeRights.user(OWN + "b", "1f"), OWN)).isFalse();
    assertThat(NodeRights.isNode(user)).isTrue();
    assertThat(NodeRights.isNode("root")).isFalse();
  }
}
