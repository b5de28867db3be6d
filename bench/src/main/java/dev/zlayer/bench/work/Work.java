package dev.zlayer.bench.work;

import dev.zlayer.bench.Report;
import java.util.List;

/** Something to measure. */
@FunctionalInterface
public interface Work {
  /** Measures all contestants and returns the figures. */
  List<Report.Table> measure(Arena arena) throws Exception;
}
