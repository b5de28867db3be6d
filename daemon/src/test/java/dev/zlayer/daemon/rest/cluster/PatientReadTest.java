package dev.zlayer.daemon.rest.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.error.AgentException;
import dev.zlayer.task.Deadline;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class PatientReadTest {
  private final AtomicLong nanos = new AtomicLong();
  private final AtomicInteger reads = new AtomicInteger();
  private final Deadline deadline = Deadline.after(Duration.ofMinutes(2), nanos::get);

  private String read(int failures, AgentException failure) throws InterruptedException {
    return PatientRead.read(
        "execution 'shop/job/1'",
        deadline,
        pause -> nanos.addAndGet(pause.toNanos()),
        () -> {
          nanos.addAndGet(Duration.ofSeconds(10).toNanos());
          if (reads.incrementAndGet() <= failures) {
            throw failure;
          }
          return "read";
        });
  }

  @Test
  void itReadsUntilTheClusterAnswers() throws Exception {
    assertThat(read(3, new AgentException.Network("no member of etcd answers"))).isEqualTo("read");
    assertThat(reads).hasValue(4);
    assertThat(read(6, new AgentException.Timeout("a change", Duration.ofSeconds(3))))
        .isEqualTo("read");
  }

  @Test
  void itEndsWhenTheClusterDoesNotAnswerForLong() {
    assertThatThrownBy(() -> read(1000, new AgentException.Network("no member of etcd answers")))
        .isInstanceOf(AgentException.Unavailable.class)
        .hasMessage(
            "what became of execution 'shop/job/1' is unknown: the cluster has not answered for"
                + " 120 seconds (no member of etcd answers); ask again when 'zlayer cluster"
                + " status' shows that it does");
    assertThat(reads).hasValueBetween(11, 13);
  }

  @Test
  void whatTheClusterAnswersIsNotAskedAgain() {
    assertThatThrownBy(() -> read(1, new AgentException.NotFound("execution", "unknown")))
        .isInstanceOf(AgentException.NotFound.class);
    assertThat(reads).hasValue(1);
  }
}
