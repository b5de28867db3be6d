package dev.zlayer.host.linux;

import java.io.IOException;
import java.util.Map;

/** A system call failed; keeps the number so that callers can tell the cases apart. */
public final class ErrnoException extends IOException {
  public static final int EPERM = 1;
  public static final int ENOENT = 2;
  public static final int ESRCH = 3;
  public static final int EINTR = 4;
  public static final int ENXIO = 6;
  public static final int ENOEXEC = 8;
  public static final int EBADF = 9;
  public static final int EAGAIN = 11;
  public static final int EACCES = 13;
  public static final int EBUSY = 16;
  public static final int EEXIST = 17;
  public static final int EXDEV = 18;
  public static final int ENOTDIR = 20;
  public static final int EISDIR = 21;
  public static final int EINVAL = 22;
  public static final int EMFILE = 24;
  public static final int ETXTBSY = 26;
  public static final int ENOSPC = 28;
  public static final int EROFS = 30;
  public static final int ENAMETOOLONG = 36;
  public static final int ENOSYS = 38;
  public static final int ENOTEMPTY = 39;
  public static final int ELOOP = 40;
  public static final int ENODATA = 61;
  public static final int EOPNOTSUPP = 95;
  public static final int ESTALE = 116;
  public static final int EDQUOT = 122;

  private static final Map<Integer, String> TEXTS =
      Map.ofEntries(
          Map.entry(EPERM, "operation not permitted"),
          Map.entry(ENOENT, "no such file or directory"),
          Map.entry(ESRCH, "no such process"),
          Map.entry(EINTR, "interrupted"),
          Map.entry(ENXIO, "not a regular file"),
          Map.entry(ENOEXEC, "not a program"),
          Map.entry(EBADF, "it is closed"),
          Map.entry(EAGAIN, "try again"),
          Map.entry(EACCES, "permission denied"),
          Map.entry(EBUSY, "device or resource busy"),
          Map.entry(EEXIST, "file exists"),
          Map.entry(EXDEV, "it leads out of its file system or root"),
          Map.entry(ENOTDIR, "not a directory"),
          Map.entry(EISDIR, "is a directory"),
          Map.entry(EINVAL, "invalid argument"),
          Map.entry(EMFILE, "too many open files"),
          Map.entry(ETXTBSY, "somebody writes to it"),
          Map.entry(ENOSPC, "no space left on device"),
          Map.entry(EROFS, "read-only file system"),
          Map.entry(ENAMETOOLONG, "file name too long"),
          Map.entry(ENOSYS, "not known to this kernel"),
          Map.entry(ENOTEMPTY, "directory not empty"),
          Map.entry(ELOOP, "too many symbolic links"),
          Map.entry(ENODATA, "no such attribute"),
          Map.entry(ESTALE, "it is not what it was"),
          Map.entry(EDQUOT, "disk quota exceeded"),
          Map.entry(EOPNOTSUPP, "not supported by the file system"));

  private final int errno;

  ErrnoException(String doing, int errno) {
    super(doing + ": " + TEXTS.getOrDefault(errno, "error") + " (errno " + errno + ")");
    this.errno = errno;
  }

  public int errno() {
    return errno;
  }
}
