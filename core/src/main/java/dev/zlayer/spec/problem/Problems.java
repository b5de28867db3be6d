package dev.zlayer.spec.problem;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Collects what is wrong with one file while it is read; not for several threads. */
public final class Problems {
  /** A hostile file must not produce an unbounded answer. */
  private static final int MOST = 500;

  private final String file;
  private final List<Problem> found = new ArrayList<>();

  /** Where something was found, and all above. */
  private final Set<SpecPath> paths = new HashSet<>();

  public Problems(String file) {
    this.file = file;
  }

  public void add(Position position, SpecPath path, String message) {
    for (SpecPath at = path; paths.add(at) && !at.steps().isEmpty(); at = at.parent()) {
      // a path whose parents are known is known, so this ends at the first one
    }
    if (found.size() < MOST) {
      found.add(
          new Problem(file, position.line(), position.column(), path.toString(), oneLine(message)));
    } else if (found.size() == MOST) {
      found.add(new Problem(file, Integer.MAX_VALUE, 1, "", "and more: only the first are shown"));
    }
  }

  /** Whether nothing has been found at {@code path} or below it so far. */
  public boolean clean(SpecPath path) {
    return !paths.contains(path);
  }

  public boolean isEmpty() {
    return found.isEmpty();
  }

  /** All findings in the order of the file. */
  public List<Problem> sorted() {
    return found.stream().sorted(Problem.BY_POSITION).toList();
  }

  private static String oneLine(String message) {
    return message.replaceAll("\\p{Cntrl}+", " ");
  }
}
