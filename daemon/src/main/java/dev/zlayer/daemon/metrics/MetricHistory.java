package dev.zlayer.daemon.metrics;

import dev.zlayer.container.ContainerId;
import dev.zlayer.container.Stats;
import dev.zlayer.container.StatsSample;
import dev.zlayer.daemon.log.Log;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.linux.NodeUsage;
import dev.zlayer.runtime.observe.StatsListener;
import dev.zlayer.task.Deadline;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.zip.CRC32C;

/**
 * What the node and its containers have used over the last day. It reads nothing of containers
 * itself: the sampler hands over what it has read anyway. Guarded by itself; written to a file now
 * and then and at the end, so that a restart loses nothing and a crash a few minutes.
 */
public final class MetricHistory implements StatsListener, AutoCloseable {
  /** Far more than a person looks at; 6 MB in all. */
  static final int MOST_CONTAINERS = 1000;

  /** Of a container; the last one only of the node. */
  private static final int CONTAINER_COLUMNS = 6;

  private static final int NODE_COLUMNS = 7;
  private static final int VERSION = 1;
  private static final int MAGIC = 0x7a6c6d68;
  private static final int SUM_BYTES = Integer.BYTES;
  private static final Duration SAVE = Duration.ofMinutes(5);
  private static final Duration KEPT = Duration.ofDays(1);
  private static final double NANOS = 1e9;

  /**
   * Figures over time, in columns as long as {@code time}.
   *
   * @param time the beginning of each step, in seconds since 1970
   * @param cpuPercent 100 for one busy core
   * @param diskUsedBytes only of the node: of the file system of the data directory
   */
  public record View(
      String name,
      String span,
      int stepSeconds,
      List<Long> time,
      List<Double> cpuPercent,
      List<Long> memoryBytes,
      List<Long> networkReceivedBytesPerSecond,
      List<Long> networkSentBytesPerSecond,
      List<Long> blockReadBytesPerSecond,
      List<Long> blockWriteBytesPerSecond,
      List<Long> diskUsedBytes) {
    /** Only the steps from a time on. */
    public View since(long second) {
      int from = (int) time.stream().filter(one -> one < second).count();
      return new View(
          name,
          span,
          stepSeconds,
          rest(time, from),
          rest(cpuPercent, from),
          rest(memoryBytes, from),
          rest(networkReceivedBytesPerSecond, from),
          rest(networkSentBytesPerSecond, from),
          rest(blockReadBytesPerSecond, from),
          rest(blockWriteBytesPerSecond, from),
          rest(diskUsedBytes, from));
    }

    private static <T> List<T> rest(List<T> all, int from) {
      return all.subList(Math.min(from, all.size()), all.size());
    }
  }

  private final Path file;
  private final Supplier<NodeUsage> usage;
  private final Log log;

  /** By their names, those that were sampled last at the end. */
  private final LinkedHashMap<String, MetricSeries> containers =
      new LinkedHashMap<>(16, 0.75f, true);

  private MetricSeries node = new MetricSeries(NODE_COLUMNS);
  private Optional<NodeUsage> before = Optional.empty();
  private Instant saved;
  private long version;
  private boolean damaged;

  private MetricHistory(Path file, Supplier<NodeUsage> usage, Instant now, Log log) {
    this.file = file;
    this.usage = usage;
    this.saved = now;
    this.log = log;
  }

  /** With what an earlier agent wrote; a file that cannot be read is reported and replaced. */
  public static MetricHistory open(Path file, Supplier<NodeUsage> usage, Instant now, Log log) {
    var history = new MetricHistory(file, usage, now, log);
    try {
      history.read(Files.readAllBytes(file));
    } catch (NoSuchFileException _) {
      // the first start
    } catch (IOException | RuntimeException e) {
      history.containers.clear();
      history.node = new MetricSeries(NODE_COLUMNS);
      history.damaged = true;
      log.warn(
          "the history of figures cannot be read and begins anew",
          Map.of("file", file.toString(), "reason", String.valueOf(e.getMessage())));
    }
    return history;
  }

  @Override
  public synchronized void sampled(ContainerId id, StatsSample sample) {
    Stats now = sample.now();
    if (sample.before().isEmpty()) {
      return; // without a rate yet
    }
    Stats old = sample.before().get();
    double seconds = Duration.between(old.time(), now.time()).toNanos() / NANOS;
    if (seconds <= 0) {
      return;
    }
    MetricSeries series = containers.get(id.runtimeName());
    if (series == null) {
      makeRoom(now.time());
      if (containers.size() >= MOST_CONTAINERS) {
        return;
      }
      series = new MetricSeries(CONTAINER_COLUMNS);
      containers.put(id.runtimeName(), series);
    }
    series.add(
        old.time().getEpochSecond(),
        now.time().getEpochSecond(),
        100 * (now.cpuNanos() - old.cpuNanos()) / NANOS / seconds,
        (double) now.memoryBytes(),
        (now.networkReceivedBytes() - old.networkReceivedBytes()) / seconds,
        (now.networkSentBytes() - old.networkSentBytes()) / seconds,
        (now.blockReadBytes() - old.blockReadBytes()) / seconds,
        (now.blockWriteBytes() - old.blockWriteBytes()) / seconds);
    added();
  }

  /** After the sampler has read all containers. */
  @Override
  public void sampledAll(Instant now) {
    NodeUsage reading;
    try {
      reading = usage.get();
    } catch (RuntimeException e) {
      log.warn("what the node uses cannot be read", Map.of("reason", String.valueOf(e)));
      return;
    }
    addNode(reading, now);
    if (Duration.between(saved, now).abs().compareTo(SAVE) >= 0) {
      saved = now;
      save();
    }
  }

  private synchronized void addNode(NodeUsage reading, Instant now) {
    before.ifPresent(
        old -> {
          double seconds = Duration.between(old.time(), reading.time()).toNanos() / NANOS;
          if (seconds > 0) {
            node.add(
                old.time().getEpochSecond(),
                reading.time().getEpochSecond(),
                100 * (reading.cpuSeconds() - old.cpuSeconds()) / seconds,
                (double) reading.memoryBytes(),
                (reading.receivedBytes() - old.receivedBytes()) / seconds,
                (reading.sentBytes() - old.sentBytes()) / seconds,
                (reading.readBytes() - old.readBytes()) / seconds,
                (reading.writtenBytes() - old.writtenBytes()) / seconds,
                (double) reading.diskUsedBytes());
            added();
          }
        });
    before = Optional.of(reading);
    long oldest = now.minus(KEPT).getEpochSecond();
    containers.values().removeIf(series -> series.last() < oldest);
  }

  private void added() {
    version++;
    notifyAll();
  }

  /** The container that was sampled least lately makes room, unless it still runs. */
  private void makeRoom(Instant now) {
    if (containers.size() < MOST_CONTAINERS) {
      return;
    }
    var eldest = containers.entrySet().iterator().next();
    if (eldest.getValue().last() < now.minus(SAVE).getEpochSecond()) {
      containers.remove(eldest.getKey());
    }
  }

  /** Counts what was added. */
  public synchronized long version() {
    return version;
  }

  /** Waits until something was added after a version. */
  public synchronized void await(long known, Deadline deadline) throws InterruptedException {
    while (version == known && !deadline.passed()) {
      wait(Math.max(1, deadline.left().toMillis()));
    }
  }

  public synchronized View node(String span, Instant now) {
    return view("node", span, node.points(MetricSeries.Span.of(span), now.getEpochSecond()));
  }

  /** The sum of those containers. */
  public synchronized View containers(
      String name, List<ContainerId> which, String span, Instant now) {
    MetricSeries.Span kept = MetricSeries.Span.of(span);
    var series = new ArrayList<List<MetricSeries.Point>>();
    for (ContainerId id : which) {
      MetricSeries one = containers.get(id.runtimeName());
      if (one != null) {
        series.add(one.points(kept, now.getEpochSecond()));
      }
    }
    return view(name, span, MetricSeries.sum(series));
  }

  /** Whether what was kept could not be read. */
  public boolean damaged() {
    return damaged;
  }

  private static View view(String name, String span, List<MetricSeries.Point> points) {
    return new View(
        name,
        span,
        MetricSeries.Span.of(span).seconds(),
        points.stream().map(MetricSeries.Point::second).toList(),
        points.stream().map(point -> Math.round(100 * point.values()[0]) / 100.0).toList(),
        column(points, 1),
        column(points, 2),
        column(points, 3),
        column(points, 4),
        column(points, 5),
        column(points, 6));
  }

  private static List<Long> column(List<MetricSeries.Point> points, int column) {
    return points.stream()
        .filter(point -> point.values().length > column)
        .map(point -> Math.round(point.values()[column]))
        .toList();
  }

  /** Without waiting for the disk: what is lost is a chart. */
  private void save() {
    try {
      AtomicFile.writeRelaxed(file, bytes());
    } catch (IOException e) {
      log.warn(
          "the history of figures cannot be written",
          Map.of("file", file.toString(), "reason", String.valueOf(e.getMessage())));
    }
  }

  private synchronized byte[] bytes() throws IOException {
    var bytes = new ByteArrayOutputStream();
    var out = new DataOutputStream(bytes);
    out.writeInt(MAGIC);
    out.writeInt(VERSION);
    node.write(out);
    out.writeInt(containers.size());
    for (var entry : containers.entrySet()) {
      out.writeUTF(entry.getKey());
      entry.getValue().write(out);
    }
    out.writeInt(checksum(bytes.toByteArray(), bytes.size()));
    return bytes.toByteArray();
  }

  private void read(byte[] bytes) throws IOException {
    int length = bytes.length - SUM_BYTES;
    if (length < 0 || ByteBuffer.wrap(bytes).getInt(length) != checksum(bytes, length)) {
      throw new IOException("its checksum is wrong");
    }
    var in = new DataInputStream(new ByteArrayInputStream(bytes, 0, length));
    if (in.readInt() != MAGIC || in.readInt() != VERSION) {
      throw new IOException("it is of another version");
    }
    node = MetricSeries.read(in, NODE_COLUMNS);
    for (int left = Math.min(in.readInt(), MOST_CONTAINERS); left > 0; left--) {
      String name = in.readUTF();
      containers.put(name, MetricSeries.read(in, CONTAINER_COLUMNS));
    }
  }

  private static int checksum(byte[] bytes, int length) {
    var sum = new CRC32C();
    sum.update(bytes, 0, length);
    return (int) sum.getValue();
  }

  @Override
  public void close() {
    save();
  }
}
