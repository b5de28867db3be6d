package dev.zlayer.engine.job;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ExitStatus;
import dev.zlayer.container.LogRecord;
import dev.zlayer.container.Signal;
import dev.zlayer.engine.init.StepReport;
import dev.zlayer.error.AgentException;
import dev.zlayer.json.JsonText;
import dev.zlayer.testkit.FrozenFormat;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What is stored of jobs stays as the frozen examples are. */
class StoredExecutionTest {
  private static final Instant NOW = Instant.parse("2024-05-06T07:08:09.012Z");

  /** As later versions have them, or as the first one had. */
  private static List<Execution> examples(boolean prepared) {
    List<ExitStatus> exits =
        List.of(
            new ExitStatus.Code(3),
            new ExitStatus.Signalled(Signal.KILL),
            new ExitStatus.OutOfMemory(),
            new ExitStatus.RuntimeError("no program"),
            new ExitStatus.Unknown("killed"));
    List<Trigger> triggers =
        List.of(
            new Trigger.Cli(),
            new Trigger.Endpoint(Optional.of("10.0.0.1")),
            new Trigger.Scheduler(NOW),
            new Trigger.Internal("others wait"));
    List<ExecutionStatus> statuses =
        List.of(
            new ExecutionStatus.Pending(),
            new ExecutionStatus.Initializing(),
            new ExecutionStatus.Running(),
            new ExecutionStatus.Uploading(exits.getFirst()),
            new ExecutionStatus.Completed(0, Duration.ofMillis(1500)),
            new ExecutionStatus.Failed("its command failed", Optional.of(exits.getFirst())),
            new ExecutionStatus.Cancelled());
    var all = new ArrayList<Execution>();
    for (int i = 0; i < statuses.size(); i++) {
      var attempt =
          new Attempt(
              1,
              prepared && i % 2 == 1 ? Optional.of(1_700_000_000_000L + i) : Optional.empty(),
              NOW,
              Optional.of(NOW),
              Optional.of(NOW),
              Optional.of(exits.get(i % exits.size())),
              Optional.of("an error"),
              List.of(
                  new StepReport(
                      "copy",
                      1,
                      2,
                      NOW,
                      StepReport.Result.values()[i % StepReport.Result.values().length],
                      Duration.ofSeconds(2),
                      Optional.of("failed"),
                      Optional.of("a log"))),
              new Attempt.Output(10, 20),
              List.of(new Attempt.Artifact("/out", "out.tar", 7)),
              List.of("a note"),
              false);
      all.add(
          new Execution(
              new ExecutionId("01hx0000000000000000000" + i),
              i,
              new JobKey("shop", "report"),
              triggers.get(i % triggers.size()),
              new Overrides(
                  Optional.of(List.of("-v")), Map.of("K", "v"), Optional.of(Duration.ofMinutes(5))),
              -2,
              NOW,
              List.of(new ExecutionId("01hx00000000000000000000")),
              List.of(new ExecutionId("01hx00000000000000000001")),
              Optional.of(NOW),
              Optional.of(NOW),
              Optional.of(NOW),
              true,
              true,
              List.of(attempt),
              statuses.get(i),
              Optional.of(NOW)));
    }
    return all;
  }

  @Test
  void everyStateOfAnExecutionIsStoredAsItWas() {
    for (Execution execution : examples(true)) {
      String name =
          "execution-v%d-%s.json"
              .formatted(ExecutionCodec.FORMAT.version(), execution.status().word());
      FrozenFormat.check(name, ExecutionCodec.json(execution));
      assertThat(ExecutionCodec.read(FrozenFormat.read(name))).isEqualTo(execution);
    }
  }

  @Test
  void executionsOfTheFirstVersionAreRead() {
    for (Execution execution : examples(false)) {
      String name = "execution-v1-%s.json".formatted(execution.status().word());
      assertThat(ExecutionCodec.read(FrozenFormat.read(name))).isEqualTo(execution);
    }
  }

  @Test
  void aSingleJobIsStoredAsItWas() {
    var job = new SingleJobs.Stored("report", "image: app\n", Path.of("/srv"));
    FrozenFormat.check("single-job-v1.json", JsonText.parse(job.write()));
    assertThat(SingleJobs.Stored.read(FrozenFormat.read("single-job-v1.json"))).isEqualTo(job);
  }

  @Test
  void keptOutputIsStoredAsItWas() throws Exception {
    var bytes = new ByteArrayOutputStream();
    List<LogRecord> records =
        List.of(
            new LogRecord(NOW, LogRecord.Stream.STDOUT, new byte[] {'a', 0, (byte) 0xff}, false),
            new LogRecord(NOW, LogRecord.Stream.STDERR, new byte[] {'b'}, true));
    try (var out = new OutputCodec.Writer(bytes)) {
      for (LogRecord record : records) {
        out.write(record);
      }
    }
    FrozenFormat.check("output-v1.hex", HexFormat.of().formatHex(bytes.toByteArray()) + "\n");
    try (var in = new OutputCodec.Reader(new ByteArrayInputStream(bytes.toByteArray()))) {
      for (LogRecord record : records) {
        assertThat(in.next().orElseThrow()).usingRecursiveComparison().isEqualTo(record);
      }
      assertThat(in.next()).isEmpty();
    }
  }

  @Test
  void outputOfALaterVersionIsRefused() {
    try (var in = new OutputCodec.Reader(new ByteArrayInputStream(new byte[] {9, 1, 2}))) {
      assertThatThrownBy(in::next)
          .isInstanceOf(AgentException.Configuration.class)
          .hasMessageContaining("version 9");
    }
  }
}
