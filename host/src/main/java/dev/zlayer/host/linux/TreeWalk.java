package dev.zlayer.host.linux;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.Optional;

/**
 * Visits everything below a directory without recursion: what containers make can be deeper than
 * any stack, and wider than any memory. No link is followed; what vanishes meanwhile is left out.
 * Of each directory first the files are visited, then the directories; of those a bounded number is
 * held by name, and the others are read again when they are due. Owned by one thread.
 */
public final class TreeWalk {
  /** Deeper trees are refused: every level takes a little memory until it is left. */
  public static final int MAX_DEPTH = 10_000;

  /** What the kernel takes as one path. */
  private static final int MAX_PATH = 4095;

  /** Names of directories that are held, on all levels together. */
  private static final int MAX_HELD = 16_384;

  /** Does something with each entry. */
  public interface Visitor {
    /** Something that is no directory. */
    void entry(OpenDirectory parent, Place at) throws IOException, InterruptedException;

    /** A directory before what is in it; false leaves that out. */
    boolean enter(OpenDirectory directory, Place at) throws IOException, InterruptedException;

    /** A directory after what is in it; called whatever {@link #enter} said. */
    default void leave(OpenDirectory parent, Place at) throws IOException, InterruptedException {}
  }

  /** An entry as it was when it was listed. */
  public final class Place {
    private final String name;
    private final FileStat stat;
    private Pending pending = new Pending();

    private Place(String name, FileStat stat) {
      this.name = name;
      this.stat = stat;
    }

    public String name() {
      return name;
    }

    public FileStat stat() {
      return stat;
    }

    /** How many directories it is below where the walk began. */
    public int depth() {
      return entered.size();
    }

    /**
     * The way from where the walk began, without a leading slash.
     *
     * @throws ErrnoException ENAMETOOLONG: it is there, but no program could name it
     */
    public String path() throws ErrnoException {
      var path = new StringBuilder();
      for (Iterator<Place> way = entered.descendingIterator(); way.hasNext(); ) {
        Place above = way.next();
        if (above == this) {
          break;
        }
        path.append(above.name).append('/');
        if (path.length() > MAX_PATH) {
          throw new ErrnoException("use path " + readable(path), ErrnoException.ENAMETOOLONG);
        }
      }
      if (path.length() + name.length() > MAX_PATH) {
        throw new ErrnoException("use path " + readable(path), ErrnoException.ENAMETOOLONG);
      }
      return path.append(name).toString();
    }

    private static String readable(StringBuilder path) {
      return KernelCalls.readable(path.substring(0, Math.min(path.length(), 100)) + "...");
    }
  }

  /** The directories of a directory that are still to be entered. */
  private static final class Pending {
    private static final long NONE = -1;

    private final Deque<OpenDirectory.Listed> names = new ArrayDeque<>(0);

    /** Where the directories are read that are not held by name. */
    private long rest = NONE;
  }

  private final TreeCursor cursor;
  private final Visitor visitor;
  private final int maxHeld;
  private final Pending top = new Pending();
  private final Deque<Place> entered = new ArrayDeque<>();
  private int held;
  private int mostHeld;

  private TreeWalk(TreeCursor cursor, Visitor visitor, int maxHeld) {
    this.cursor = cursor;
    this.visitor = visitor;
    this.maxHeld = maxHeld;
  }

  /**
   * Visits what is below {@code start}, which itself is not visited.
   *
   * @throws ErrnoException ENAMETOOLONG when it is deeper than {@link #MAX_DEPTH}
   */
  public static void below(OpenDirectory start, Visitor visitor)
      throws IOException, InterruptedException {
    below(start, visitor, MAX_HELD);
  }

  /** Returns how many names were held at most. */
  static int below(OpenDirectory start, Visitor visitor, int maxHeld)
      throws IOException, InterruptedException {
    try (var cursor = new TreeCursor(start)) {
      var walk = new TreeWalk(cursor, visitor, maxHeld);
      walk.run();
      return walk.mostHeld;
    }
  }

  private void run() throws IOException, InterruptedException {
    list(top);
    while (true) {
      Pending current = entered.isEmpty() ? top : entered.getFirst().pending;
      if (current.names.isEmpty() && current.rest != Pending.NONE) {
        readRest(current);
      }
      OpenDirectory.Listed next = current.names.pollFirst();
      if (next != null) {
        held--;
        enter(next.name());
      } else if (entered.isEmpty()) {
        return;
      } else {
        Place left = entered.getFirst();
        cursor.leave();
        visitor.leave(cursor.directory(), left);
        entered.removeFirst();
      }
    }
  }

  private void enter(String name) throws IOException, InterruptedException {
    if (entered.size() >= MAX_DEPTH) {
      throw new ErrnoException(
          "read a tree of more than %d levels".formatted(MAX_DEPTH), ErrnoException.ENAMETOOLONG);
    }
    try {
      cursor.enter(name);
    } catch (ErrnoException e) {
      if (vanished(e)) {
        return;
      }
      throw e;
    }
    var place = new Place(name, cursor.directory().stat(OpenDirectory.SELF));
    entered.addFirst(place);
    if (visitor.enter(cursor.directory(), place)) {
      list(place.pending);
    }
  }

  /** Visits the files of the current directory and notes its directories. */
  private void list(Pending pending) throws IOException, InterruptedException {
    OpenDirectory directory = cursor.directory();
    directory.read(
        0,
        listed -> {
          Optional<FileStat> stat = find(directory, listed);
          if (stat.isPresent() && stat.get().kind() == FileKind.DIRECTORY) {
            note(pending, listed, 0);
          } else if (stat.isPresent()) {
            visitor.entry(directory, new Place(listed.name(), stat.get()));
          }
          return true;
        });
  }

  /** Notes further directories of the current directory; its files were visited before. */
  private void readRest(Pending pending) throws IOException, InterruptedException {
    OpenDirectory directory = cursor.directory();
    long from = pending.rest;
    pending.rest = Pending.NONE;
    directory.read(
        from,
        listed -> {
          Optional<FileStat> stat =
              listed.maybeDirectory() ? find(directory, listed) : Optional.empty();
          if (stat.isPresent() && stat.get().kind() == FileKind.DIRECTORY) {
            note(pending, listed, from);
          }
          return pending.rest == Pending.NONE;
        });
  }

  private static Optional<FileStat> find(OpenDirectory directory, OpenDirectory.Listed listed)
      throws IOException, InterruptedException {
    if (Thread.interrupted()) {
      throw new InterruptedException("reading a tree was interrupted");
    }
    return directory.find(listed.name());
  }

  /**
   * Holds a directory by its name, or the place where it and the others are read later.
   *
   * @param from where this reading began: entries that have one place cannot be read in parts
   */
  private void note(Pending pending, OpenDirectory.Listed directory, long from) {
    if (pending.rest != Pending.NONE) {
      return;
    }
    if (pending.names.size() >= maxHeld / 2 && directory.place() != from) {
      pending.rest = directory.place();
      return;
    }
    pending.names.addLast(directory);
    held++;
    if (held > maxHeld) {
      forgetFarthest(pending);
    }
    mostHeld = Math.max(mostHeld, held);
  }

  /** Names far above are read again when the walk is back there. */
  private void forgetFarthest(Pending current) {
    forget(top, current);
    for (var way = entered.descendingIterator(); way.hasNext() && held > maxHeld / 2; ) {
      forget(way.next().pending, current);
    }
  }

  private void forget(Pending pending, Pending current) {
    OpenDirectory.Listed first = pending.names.peekFirst();
    if (first != null && pending != current) {
      pending.rest = first.place();
      held -= pending.names.size();
      pending.names.clear();
    }
  }

  /** It is not there any more, or something else is. */
  public static boolean vanished(ErrnoException e) {
    return e.errno() == ErrnoException.ENOENT
        || e.errno() == ErrnoException.ENOTDIR
        || e.errno() == ErrnoException.ELOOP
        || e.errno() == ErrnoException.ENXIO; // no regular file any more
  }
}
