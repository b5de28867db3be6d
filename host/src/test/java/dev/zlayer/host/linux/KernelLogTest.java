package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import org.junit.jupiter.api.Test;

class KernelLogTest {
  private static final String GROUP = "/system.slice/zlayer-a-box.scope";
  private static final Instant BEGUN = Instant.parse("2026-11-16T04:02:10.858Z");
  private static final String LOG =
      """
      2026-11-16T04:02:11,476677+00:00 tail invoked oom-killer: gfp_mask=0xcc0, order=0
      2026-11-16T04:02:11,476999+00:00 oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),\
      oom_memcg=/system.slice/zlayer-a-box.scope,task_memcg=/system.slice/zlayer-a-box.scope,task=tail,pid=982,uid=0
      2026-11-16T04:02:11,477100+00:00 Memory cgroup out of memory: Killed process 982 (tail)
      """;

  @Test
  void aKillInTheGroupIsFound() {
    assertThat(KernelLog.reports(LOG, GROUP, BEGUN)).isTrue();
    String below = LOG.replace("box.scope,task=", "box.scope/container,task=");
    assertThat(KernelLog.reports(below, GROUP, BEGUN)).isTrue();
  }

  @Test
  void killsInOtherGroupsAndOfEarlierRunsDoNotCount() {
    assertThat(KernelLog.reports(LOG, "/system.slice/zlayer-a-bo.scope", BEGUN)).isFalse();
    assertThat(KernelLog.reports(LOG, GROUP, BEGUN.plusSeconds(60))).isFalse();
    assertThat(KernelLog.reports("odd oom-kill:,task_memcg=" + GROUP + ",", GROUP, BEGUN))
        .isFalse();
    assertThat(KernelLog.reports("", GROUP, BEGUN)).isFalse();
  }
}
