package dev.zlayer.runtime.wsl;

import dev.zlayer.error.AgentException;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The same file by its name on Windows and by its name in a distribution. Pure; works on text,
 * since neither side's names are paths to the other.
 *
 * @param drives where the distribution shows the drives of Windows, {@code /mnt} unless changed
 */
public record WslPaths(String distribution, String drives) {
  /** The beginnings that all mean: inside a distribution. */
  private static final Pattern SHARE =
      Pattern.compile("//(?:wsl\\$|wsl\\.localhost)/([^/]+)(/.*)?", Pattern.CASE_INSENSITIVE);

  private static final Pattern DRIVE = Pattern.compile("([A-Za-z]):(/.*)?");
  private static final Pattern LONG =
      Pattern.compile("//[?.]/(UNC/)?(.*)", Pattern.CASE_INSENSITIVE);

  public WslPaths {
    drives = drives.endsWith("/") ? drives.substring(0, drives.length() - 1) : drives;
  }

  public static WslPaths of(String distribution) {
    return new WslPaths(distribution, "/mnt");
  }

  /**
   * What a name on Windows is called in the distribution.
   *
   * @throws AgentException.InvalidSpec it is relative
   * @throws AgentException.Unsupported the distribution cannot see it: another machine's share, or
   *     another distribution
   */
  public String toLinux(String windows) {
    String path = plain(windows.replace('\\', '/'));
    Matcher drive = DRIVE.matcher(path);
    if (drive.matches()) {
      String rest = Optional.ofNullable(drive.group(2)).orElse("");
      return drives + "/" + drive.group(1).toLowerCase(Locale.ROOT) + trimmed(rest);
    }
    Matcher share = SHARE.matcher(path);
    if (share.matches()) {
      if (!share.group(1).equalsIgnoreCase(distribution)) {
        throw new AgentException.Unsupported(
            "%s is in the distribution '%s', and containers run in '%s'"
                .formatted(windows, share.group(1), distribution));
      }
      String rest = trimmed(Optional.ofNullable(share.group(2)).orElse(""));
      return rest.isEmpty() ? "/" : rest;
    }
    if (path.startsWith("//")) {
      throw new AgentException.Unsupported(
          "%s is on another machine: give its share a drive letter that WSL mounts, or copy it"
              .formatted(windows));
    }
    if (path.startsWith("/") && !windows.startsWith("\\")) {
      return path.length() > 1 ? trimmed(path) : path; // a name of the distribution itself
    }
    throw new AgentException.InvalidSpec(
        "'%s' is not a full path: write one such as C:\\data".formatted(windows));
  }

  /** What a name in the distribution is called on Windows. */
  public String toWindows(String linux) {
    if (!linux.startsWith("/")) {
      throw new AgentException.InvalidSpec("'%s' is not a full path".formatted(linux));
    }
    Matcher drive = Pattern.compile(Pattern.quote(drives) + "/([a-zA-Z])(/.*)?").matcher(linux);
    if (drive.matches()) {
      String rest = Optional.ofNullable(drive.group(2)).orElse("/");
      return drive.group(1).toUpperCase(Locale.ROOT) + ":" + rest.replace('/', '\\');
    }
    return "\\\\wsl.localhost\\" + distribution + linux.replace('/', '\\');
  }

  /** Without the mark that turns off the limit on the length of names. */
  private static String plain(String path) {
    Matcher marked = LONG.matcher(path);
    if (!marked.matches()) {
      return path;
    }
    return (marked.group(1) == null ? "" : "//") + marked.group(2);
  }

  private static String trimmed(String path) {
    String single = path.replaceAll("/{2,}", "/");
    return single.endsWith("/") ? single.substring(0, single.length() - 1) : single;
  }
}
