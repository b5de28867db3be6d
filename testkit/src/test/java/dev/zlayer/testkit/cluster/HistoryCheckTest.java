package dev.zlayer.testkit.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.testkit.cluster.History.Mark;
import dev.zlayer.testkit.cluster.History.Request;
import dev.zlayer.testkit.cluster.History.Result;
import dev.zlayer.testkit.cluster.History.Round;
import dev.zlayer.testkit.cluster.History.Scheduled;
import dev.zlayer.testkit.cluster.History.Start;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

class HistoryCheckTest {
  private final List<Request> requests = new ArrayList<>();
  private final List<Result> results = new ArrayList<>();
  private final List<Start> starts = new ArrayList<>();
  private final List<Scheduled> scheduled = new ArrayList<>();
  private final List<Mark> marks = new ArrayList<>();
  private final List<Round> rounds = new ArrayList<>();
  private final List<String> unsettled = new ArrayList<>();
  private int ticks;

  @Test
  void aHistoryWithoutFaultsIsRight() {
    acknowledged("a", 0);
    acknowledged("b", 3);
    requests.add(new Request("c", Optional.empty(), 0, false));
    scheduled.add(new Scheduled("s1", "00:00:05"));
    scheduled.add(new Scheduled("s2", "00:00:10"));
    ticks = 2;
    life("web", "x", 10, 60, false);
    rounds.add(new Round("etcd killed", 20, 50, Optional.of("web")));
    assertThat(violations()).isEmpty();
  }

  @Test
  void aLostResultIsFound() {
    acknowledged("a", 0);
    results.clear();
    assertThat(violations()).containsExactly("lost result: a (id-a) is unknown");
    results.add(new Result("id-a", "running", Optional.empty(), ""));
    assertThat(violations()).containsExactly("lost result: a (id-a) is 'running'");
    results.set(0, new Result("id-a", "completed", Optional.of(0), ""));
    assertThat(violations()).containsExactly("lost output: a (id-a) printed ''");
    results.set(0, new Result("id-a", "failed", Optional.of(1), "result of a\n"));
    assertThat(violations())
        .containsExactly("wrong result: a (id-a) ended with Optional[1], not 0");
  }

  @Test
  void anExecutionIsLostOnlyWithANode() {
    requests.add(new Request("a", Optional.of("id-a"), 0, false));
    results.add(new Result("id-a", "lost", Optional.empty(), ""));
    assertThat(violations()).containsExactly("lost result: a (id-a): no node was lost");
    requests.set(0, new Request("a", Optional.of("id-a"), 0, true));
    assertThat(violations()).isEmpty();
  }

  @Test
  void aDoubleRunIsFound() {
    acknowledged("a", 0);
    starts.add(new Start("a", 9));
    assertThat(violations()).containsExactly("double run: a began 2 times");
  }

  @Test
  void whatWasNeverAcknowledgedRunsAtMostOnce() {
    requests.add(new Request("a", Optional.empty(), 0, false));
    starts.add(new Start("a", 1));
    assertThat(violations()).isEmpty();
    starts.add(new Start("a", 2));
    assertThat(violations()).containsExactly("double run: a began 2 times");
  }

  @Test
  void oneIdForTwoRequestsAndAResultWithoutARunAreFound() {
    acknowledged("a", 0);
    requests.add(new Request("b", Optional.of("id-a"), 0, false));
    assertThat(violations())
        .containsExactly(
            "execution id-a was given to both a and b",
            "lost output: b (id-a) printed 'result of a'",
            "b has a result and never began");
  }

  @Test
  void aTimeThatAScheduleStartsTwiceIsFound() {
    scheduled.add(new Scheduled("s1", "00:00:05"));
    scheduled.add(new Scheduled("s1", "00:00:05"));
    ticks = 1;
    assertThat(violations()).as("the same one, seen on two nodes").isEmpty();
    scheduled.add(new Scheduled("s2", "00:00:05"));
    ticks = 3;
    assertThat(violations())
        .containsExactly(
            "double run: the schedule started 00:00:05 as [s1, s2]",
            "double run: the command of the schedule began 3 times in 2 executions");
  }

  @Test
  void aContainerThatEndsWithoutALostNodeIsFound() {
    life("web", "asked", 10, 30, true);
    life("web", "killed", 10, 31, false);
    life("web", "before", 1, 5, false);
    life("web", "after", 32, 60, false);
    life("other", "own", 10, 30, true);
    rounds.add(new Round("quorum lost", 20, 50, Optional.of("web")));
    rounds.add(new Round("node killed", 20, 50, Optional.empty()));
    assertThat(violations())
        .containsExactly(
            "quorum lost ended a container of web at 30.0 (from 20.0 to 50.0)",
            "quorum lost ended a container of web at 31.0 (from 20.0 to 50.0)");
  }

  @Test
  void twoOfASingleInstanceAreFound() {
    life("one", "first", 10, 30, true);
    life("one", "second", 31, 40, false);
    assertThat(violations()).isEmpty();
    life("one", "third", 39, 50, false);
    assertThat(violations())
        .containsExactly(
            "double run: a container of one began at 39.0 while another one ran until 40.0");
    marks.clear();
    life("one", "first", 10, 30, false);
    life("one", "second", 12, 13, true);
    life("one", "third", 30, 40, false);
    assertThat(violations())
        .as("one within another, and one that began when another one wrote for the last time")
        .containsExactly(
            "double run: a container of one began at 12.0 while another one ran until 30.0",
            "double run: a container of one began at 30.0 while another one ran until 30.0");
  }

  @Test
  void theTimesBetweenTwoOfASingleInstanceAreKnown() {
    assertThat(HistoryCheck.gaps(marks, "one")).isEmpty();
    life("one", "second", 31, 40, false);
    life("one", "first", 10, 30, true);
    life("other", "own", 10, 90, false);
    life("one", "third", 52, 60, false);
    assertThat(HistoryCheck.gaps(marks, "one")).containsExactly(1.0, 12.0);
  }

  @Test
  void whatWasNotReachedAfterFaultsIsNamed() {
    unsettled.add("shop/web has 2 of 3 replicas 120 s after link down");
    assertThat(violations()).isEqualTo(unsettled);
  }

  private void acknowledged(String key, int code) {
    requests.add(new Request(key, Optional.of("id-" + key), code, false));
    starts.add(new Start(key, 1));
    String status = code == 0 ? "completed" : "failed";
    results.add(new Result("id-" + key, status, Optional.of(code), "result of " + key + "\n"));
  }

  private void life(String service, String container, int from, int until, boolean stopped) {
    marks.add(new Mark(service, container, Mark.Kind.START, from));
    for (int time = from + 1; time < until; time++) {
      marks.add(new Mark(service, container, Mark.Kind.ALIVE, time));
    }
    marks.add(new Mark(service, container, stopped ? Mark.Kind.STOP : Mark.Kind.ALIVE, until));
  }

  private List<String> violations() {
    return HistoryCheck.violations(
        new History(
            requests, results, starts, scheduled, ticks, marks, Set.of("one"), rounds, unsettled));
  }
}
