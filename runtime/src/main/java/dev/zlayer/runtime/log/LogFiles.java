package dev.zlayer.runtime.log;

import dev.zlayer.container.LogQuery;
import dev.zlayer.container.LogSpec;
import dev.zlayer.host.file.UnixPath;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The files with a container's output, kept in a bounded number of generations.
 *
 * <p>conmon rotates: when {@code output} would grow over the limit it opens {@code output.tmp} and
 * renames it over {@code output}, which throws the old lines away, also when no agent runs. We keep
 * them by giving every generation a second name, {@code output.7}: the file conmon will open next
 * is made beforehand under both names, so a generation is never without ours. All that is left to
 * do after a rotation, in {@link #settle}, is to make the next file and to delete the oldest ones.
 * Nobody has to tell conmon anything, and disk use is bounded by conmon itself.
 *
 * <p>What is not kept: when conmon fills two files before we come to settle, or while no agent
 * runs, the file in between never had a name of ours, and its lines are dropped. Files of some
 * megabytes take longer to fill than settling takes, even from a container that prints as fast as
 * it can. Generations are numbered from 1, so a number that is missing means that output is, or may
 * be, and readers say so ({@link dev.zlayer.port.LogReader#gap}).
 */
public final class LogFiles {
  private static final String NAME = "output";
  private static final String INDEX = "index";

  /** More than any line that is written at once. */
  private static final int LONGEST_LINE = 64 << 10;

  /** Who rotates more often meanwhile has us called again. */
  private static final int TURNS = 3;

  /** How much the times may differ that one rename gives to two files. */
  private static final Duration TICK = Duration.ofMillis(10);

  /** A smaller file may be filled within few ticks. */
  private static final long FILLED_WITHIN_TICKS = 8 << 20;

  /**
   * One generation.
   *
   * @param key what the file is, whatever its name
   */
  record Generation(long number, Path path, Object key, long size) {}

  /** Each is for some directories: who settles one and who reads it may be different objects. */
  private static final List<Object> LOCKS = Stream.generate(Object::new).limit(64).toList();

  private final Path directory;
  private final LogSpec spec;
  private final Object lock;

  public LogFiles(Path directory, LogSpec spec) {
    this.directory = directory;
    this.spec = spec;
    this.lock = LOCKS.get(Math.floorMod(directory.hashCode(), LOCKS.size()));
  }

  /** Something that looks at the files. */
  @FunctionalInterface
  interface Look<T> {
    T look() throws IOException;
  }

  /** Looks while we give no names: until a file has its last one, a gap may not be told by it. */
  <T> T unchanged(Look<T> look) throws IOException {
    synchronized (lock) {
      return look.look();
    }
  }

  public Path directory() {
    return directory;
  }

  /** The file conmon writes. */
  public Path current() {
    return directory.resolve(NAME);
  }

  /** What conmon has to be told about the log. */
  public List<String> conmonArguments() {
    return List.of(
        "--log-path",
        "k8s-file:" + UnixPath.text(current()),
        "--log-size-max",
        Long.toString(spec.maxFileBytes()),
        // otherwise each rotation and each exit waits for the disk
        "--no-sync-log");
  }

  /**
   * Makes the files ready for a conmon that starts next; none may run now. conmon counts from zero
   * at every start, so a file that is half full is not gone on with: a container that restarts for
   * ever would make it grow for ever.
   */
  public void prepare() throws IOException {
    if (directory.getFileSystem().supportedFileAttributeViews().contains("posix")) {
      Files.createDirectories(
          directory,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    } else {
      Files.createDirectories(directory);
    }
    if (!Files.exists(current())) {
      Files.createFile(current());
    }
    settle();
    endLastLine();
    if (Files.size(current()) >= spec.maxFileBytes() / 2) {
      rotate();
    }
  }

  /** Begins in an empty directory whose files were lost, so that readers report a gap. */
  public void beginAfterLoss() throws IOException {
    Files.createFile(named(2));
    Files.createLink(current(), named(2));
  }

  /** Whether a file that somebody holds open costs memory after it was deleted. */
  boolean inMemory() {
    return spec.inMemory();
  }

  /** Goes on with an empty file, for whoever writes {@link #current} instead of conmon. */
  void rotate() throws IOException {
    Files.move(next(), current(), StandardCopyOption.ATOMIC_MOVE);
    settle();
  }

  long maxFileBytes() {
    return spec.maxFileBytes();
  }

  /**
   * Brings our names in line with what conmon did: names a generation that has none, makes the next
   * one, deletes those that are too many.
   */
  public void settle() throws IOException {
    synchronized (lock) {
      for (int turn = 0; turn < TURNS && !settled(); turn++) {
        // it rotated meanwhile; at once, so that conmon finds the next file made
      }
    }
  }

  private boolean settled() throws IOException {
    List<Generation> generations = generations();
    Optional<Object> key = key(current());
    if (key.isEmpty()) {
      return true; // the container is being removed
    }
    if (generations.stream().noneMatch(generation -> generation.key().equals(key.get()))) {
      adopt(generations);
      if (!key(current()).equals(key)) {
        return false;
      }
      generations = generations();
    }
    if (!Files.exists(next())) {
      makeNext(generations, key.get());
    }
    trim(generations, key.get());
    return true;
  }

  /** Deletes what was rotated, whatever its size and age; returns how many bytes that were. */
  public long prune() throws IOException {
    Optional<Object> key = key(current());
    List<Generation> generations = generations();
    if (key.isEmpty()
        || generations.stream().noneMatch(generation -> generation.key().equals(key.get()))) {
      return 0; // which of them is written now is not known
    }
    long freed = 0;
    for (Generation generation : generations) {
      if (generation.key().equals(key.get())) {
        break;
      }
      delete(generation);
      freed += generation.size();
    }
    return freed;
  }

  /** The query without output that is too old to be kept. */
  LogQuery retained(LogQuery query, Instant now) {
    Optional<Instant> oldest = spec.retention().map(now::minus);
    return oldest
        .filter(from -> query.since().map(from::isAfter).orElse(true))
        .map(query::withSince)
        .orElse(query);
  }

  /** Writes all that is kept, oldest first, as conmon wrote it. */
  public void copyTo(OutputStream out) throws IOException {
    for (LogPart part : LogPart.openAll(this)) {
      try (part) {
        Channels.newInputStream(part.channel()).transferTo(out);
      }
    }
  }

  /** Our names, oldest first. The last is often the one made for conmon's next rotation. */
  List<Generation> generations() throws IOException {
    var found = new ArrayList<Generation>();
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        number(file).flatMap(number -> generation(number, file)).ifPresent(found::add);
      }
    } catch (NoSuchFileException _) {
      return List.of();
    }
    found.sort(Comparator.comparingLong(Generation::number));
    return found;
  }

  /** All generations with output, oldest first, ending with the one being written. */
  List<Generation> readable() throws IOException {
    Optional<Generation> current = generation(Long.MAX_VALUE, current());
    var found = new ArrayList<Generation>();
    for (Generation generation : generations()) {
      found.add(generation);
      if (current.isPresent() && generation.key().equals(current.get().key())) {
        return found;
      }
    }
    // not named yet: it is the newest, and a next one is not in use
    current.ifPresent(found::add);
    return found;
  }

  /** What the file at a path is; empty when there is none. */
  static Optional<Object> key(Path file) {
    try {
      return Optional.of(key(Files.readAttributes(file, BasicFileAttributes.class)));
    } catch (IOException _) {
      return Optional.empty();
    }
  }

  /** Windows has no number for a file; two names of one have the same time of creation. */
  private static Object key(BasicFileAttributes attributes) {
    Object key = attributes.fileKey();
    return key == null ? attributes.creationTime() : key;
  }

  /**
   * Names a file that conmon made itself because the next one was not ready. It may have made and
   * dropped others before it, so a number is left out: that is how readers know.
   */
  private void adopt(List<Generation> generations) throws IOException {
    long number = generations.isEmpty() ? 1 : last(generations) + 2;
    try {
      Files.createLink(named(number), current());
    } catch (NoSuchFileException _) {
      return; // a rotation dropped it at this moment
    }
    Optional<Object> adopted = key(named(number));
    for (Generation known : generations) {
      if (Optional.of(known.key()).equals(adopted)) {
        // it rotated once more meanwhile, to the one that was ready: what we came for is gone
        Files.delete(named(number));
        Files.move(known.path(), named(number), StandardCopyOption.ATOMIC_MOVE);
        return;
      }
    }
    Optional<Object> waiting = key(next());
    for (Generation generation : generations) {
      if (waiting.isPresent() && generation.key().equals(waiting.get())) {
        // still to be used, so it comes after
        Files.move(generation.path(), named(number + 1), StandardCopyOption.ATOMIC_MOVE);
      }
    }
  }

  /**
   * Makes the file that conmon opens next. When conmon rotates meanwhile, it may have found none
   * and filled and dropped one of its own before it came to ours, so a number is left out.
   */
  private void makeNext(List<Generation> generations, Object currentKey) throws IOException {
    long number = last(generations) + 1;
    Path file = Files.createFile(named(number));
    try {
      Files.createLink(next(), file);
    } catch (FileAlreadyExistsException _) {
      Files.delete(file); // conmon was faster, its rename follows at once
      return;
    }
    Optional<Object> now = key(current());
    boolean rotated = now.isPresent() && !now.get().equals(currentKey);
    if (rotated && !(now.equals(key(file)) && follows(file, generations))) {
      Files.move(file, named(number + 1), StandardCopyOption.ATOMIC_MOVE);
    }
  }

  /**
   * Whether conmon went from the last of these straight to a file. The rename that does so marks
   * the change of both at once. The clock of a file system is coarse, so this says nothing about
   * files that are filled within one of its ticks.
   */
  private boolean follows(Path file, List<Generation> generations) throws IOException {
    if (spec.maxFileBytes() < FILLED_WITHIN_TICKS
        || generations.isEmpty()
        || !directory.getFileSystem().supportedFileAttributeViews().contains("unix")) {
      return false;
    }
    Duration between = Duration.between(changed(generations.getLast().path()), changed(file)).abs();
    return between.compareTo(TICK) <= 0;
  }

  private static Instant changed(Path file) throws IOException {
    return ((FileTime) Files.getAttribute(file, "unix:ctime")).toInstant();
  }

  private void trim(List<Generation> generations, Object currentKey) throws IOException {
    var rotated = new ArrayList<Generation>();
    for (Generation generation : generations) {
      if (generation.key().equals(currentKey)) {
        break;
      }
      rotated.add(generation);
    }
    if (rotated.size() == generations.size()) {
      return; // it rotated meanwhile, and we shall be called again
    }
    long total = rotated.stream().mapToLong(Generation::size).sum();
    for (Generation oldest : rotated) {
      boolean fits = total <= spec.maxFileBytes() * (spec.files() - 1);
      if (fits && oldest.size() > 0 && !expired(oldest.path())) {
        break;
      }
      delete(oldest);
      total -= oldest.size();
    }
  }

  private void delete(Generation generation) throws IOException {
    Files.deleteIfExists(generation.path());
    Files.deleteIfExists(index(generation.number()));
  }

  /** Where a generation is indexed for searches; nowhere as long as it has no number. */
  Optional<Path> index(Generation generation) {
    return generation.number() == Long.MAX_VALUE || inMemory()
        ? Optional.empty()
        : Optional.of(index(generation.number()));
  }

  private Path index(long number) {
    return directory.resolve(INDEX + "." + number);
  }

  /** Counted from the newest output, which is when a file is rotated. */
  private boolean expired(Path rotated) throws IOException {
    if (spec.retention().isEmpty()) {
      return false;
    }
    Instant newest = Files.getLastModifiedTime(current()).toInstant();
    try {
      Instant last = Files.getLastModifiedTime(rotated).toInstant();
      return last.isBefore(newest.minus(spec.retention().get()));
    } catch (NoSuchFileException _) {
      return false;
    }
  }

  /**
   * A conmon that was killed may have left half a line; what comes next shall not join it, and what
   * is there of it must not look like a whole line of output.
   */
  private void endLastLine() throws IOException {
    try (var channel =
        FileChannel.open(current(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      long size = channel.size();
      var tail = ByteBuffer.allocate((int) Math.min(size, LONGEST_LINE));
      long base = size - tail.capacity();
      while (tail.hasRemaining() && channel.read(tail, base + tail.position()) > 0) {
        // until all of it is read
      }
      byte[] bytes = tail.array();
      int start = bytes.length;
      while (start > 0 && bytes[start - 1] != '\n') {
        start--;
      }
      if (start == bytes.length) {
        return;
      }
      var header = new LineHeader();
      if (!header.parse(bytes, start, bytes.length)) {
        channel.truncate(base + start); // not even its head is whole
        return;
      }
      channel.write(ByteBuffer.wrap(new byte[] {'P'}), base + header.text() - 2);
      channel.write(ByteBuffer.wrap(new byte[] {'\n'}), size);
    }
  }

  private static long last(List<Generation> generations) {
    return generations.isEmpty() ? 0 : generations.getLast().number();
  }

  private static Optional<Generation> generation(long number, Path file) {
    try {
      var attributes = Files.readAttributes(file, BasicFileAttributes.class);
      return Optional.of(new Generation(number, file, key(attributes), attributes.size()));
    } catch (IOException _) {
      return Optional.empty(); // deleted since it was listed
    }
  }

  private static Optional<Long> number(Path file) {
    String name = file.getFileName().toString();
    return name.matches(NAME + "\\.[0-9]{1,18}")
        ? Optional.of(Long.parseLong(name.substring(NAME.length() + 1)))
        : Optional.empty();
  }

  private Path named(long number) {
    return directory.resolve(NAME + "." + number);
  }

  /** What conmon opens, emptied, when it rotates. */
  private Path next() {
    return directory.resolve(NAME + ".tmp");
  }
}
