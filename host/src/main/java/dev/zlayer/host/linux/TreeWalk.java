package dev.zlayer.host.linux;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;

/**
 * Visits everything below a directory without recursion: what containers make can be deeper than
 * any stack. No link is followed; what vanishes meanwhile is left out. Of each directory first the
 * files are visited, then the directories. Owned by one thread.
 */
public final class TreeWalk {
  /** What the kernel takes as one path. */
  private static final int MAX_PATH = 4095;

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
    private Iterator<String> directories = List.<String>of().iterator();

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

  private final TreeCursor cursor;
  private final Visitor visitor;
  private final Deque<Place> entered = new ArrayDeque<>();

  private TreeWalk(TreeCursor cursor, Visitor visitor) {
    this.cursor = cursor;
    this.visitor = visitor;
  }

  /** Visits what is below {@code start}, which itself is not visited. */
  public static void below(OpenDirectory start, Visitor visitor)
      throws IOException, InterruptedException {
    try (var cursor = new TreeCursor(start)) {
      new TreeWalk(cursor, visitor).run();
    }
  }

  private void run() throws IOException, InterruptedException {
    Iterator<String> top = list();
    while (true) {
      Iterator<String> directories = entered.isEmpty() ? top : entered.getFirst().directories;
      if (directories.hasNext()) {
        enter(directories.next());
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
      place.directories = list();
    }
  }

  /** Visits the files of the current directory and returns the names of its directories. */
  private Iterator<String> list() throws IOException, InterruptedException {
    List<String> directories = new ArrayList<>();
    OpenDirectory directory = cursor.directory();
    directory.visit(
        name -> {
          if (Thread.interrupted()) {
            throw new InterruptedException("reading a tree was interrupted");
          }
          Optional<FileStat> stat = directory.find(name);
          if (stat.isEmpty()) {
            return;
          }
          if (stat.get().kind() == FileKind.DIRECTORY) {
            directories.add(name);
          } else {
            visitor.entry(directory, new Place(name, stat.get()));
          }
        });
    return directories.iterator();
  }

  /** It is not there any more, or something else is. */
  public static boolean vanished(ErrnoException e) {
    return e.errno() == ErrnoException.ENOENT
        || e.errno() == ErrnoException.ENOTDIR
        || e.errno() == ErrnoException.ELOOP
        || e.errno() == ErrnoException.ENXIO; // no regular file any more
  }
}
