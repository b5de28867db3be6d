package dev.zlayer.bench.work;

import dev.zlayer.bench.Report;
import dev.zlayer.bench.Samples;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Hot pure code by itself, each in a JVM of its own. */
public final class MicroWork implements Work {
  @Override
  public List<Report.Table> measure(Arena arena) throws Exception {
    var options = arena.options();
    var jmh =
        new OptionsBuilder()
            .include("dev\\.zlayer\\..*")
            .mode(Mode.AverageTime)
            .timeUnit(TimeUnit.MICROSECONDS)
            .forks(1)
            .warmupIterations(options.size(5, 1))
            .measurementIterations(options.size(8, 2))
            .warmupTime(TimeValue.milliseconds(options.size(1000, 200)))
            .measurementTime(TimeValue.milliseconds(options.size(1000, 200)))
            .jvmArgsAppend(
                "-Dzlayer.project=" + options.project(), "--sun-misc-unsafe-memory-access=allow")
            .shouldFailOnError(true)
            .verbosity(VerboseMode.SILENT)
            .build();
    List<Report.Row> rows = new ArrayList<>();
    for (RunResult result : new Runner(jmh).run()) {
      rows.add(Report.Row.of(result.getPrimaryResult().getLabel(), samples(result)));
    }
    return List.of(new Report.Table("hot code by itself", "us each", "", rows));
  }

  private static Samples samples(RunResult result) {
    return new Samples(
        result.getBenchmarkResults().stream()
            .flatMap(fork -> fork.getIterationResults().stream())
            .map(IterationResult::getPrimaryResult)
            .map(org.openjdk.jmh.results.Result::getScore)
            .toList());
  }
}
