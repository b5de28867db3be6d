package dev.zlayer.host.net;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class RuleCountTest {
  @Test
  void aScriptAndItsListingHaveTheSameRules() {
    RuleCount script =
        RuleCount.of(
            """
            table ip zl
            delete table ip zl
            table ip zl {
              set bridges { type ifname; elements = { "a", "b" }; }
              map any { type inet_service : verdict; }
              chain nothing { }
              chain forward {
                type filter hook forward priority filter; policy accept;
                iifname @bridges accept
                ip daddr { 127.0.0.0/8, 10.0.0.0/8 } drop
              }
            }
            add element ip zl any { 80 : jump nothing }
            """);
    RuleCount listed =
        RuleCount.of(
            """
            table ip zl {
            \tset bridges {
            \t\ttype ifname
            \t}

            \tmap any {
            \t\ttype inet_service : verdict
            \t}

            \tchain nothing {
            \t}

            \tchain forward {
            \t\ttype filter hook forward priority filter; policy accept;
            \t\tiifname @bridges accept
            \t\tip daddr { 10.0.0.0/8, 127.0.0.0/8 } drop
            \t}
            }
            """);

    assertThat(script).isEqualTo(listed);
    assertThat(script.tables()).isEqualTo(Map.of("ip zl", Map.of("nothing", 0, "forward", 2)));
  }

  @Test
  void aFlushedChainIsAnother() {
    assertThat(RuleCount.of("table ip zl {\n chain a {\n  accept\n }\n}\n"))
        .isNotEqualTo(RuleCount.of("table ip zl {\n chain a {\n }\n}\n"))
        .isNotEqualTo(RuleCount.of(""));
  }
}
