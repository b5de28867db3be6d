package dev.zlayer.daemon.backup;

import dev.zlayer.daemon.Version;
import dev.zlayer.engine.state.SqliteStateStore;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.file.AtomicFile;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.file.DirectoryLock;
import dev.zlayer.host.file.PrivateDirectory;
import dev.zlayer.host.linux.RootedDirectory;
import dev.zlayer.runtime.observe.DirectoryArchive;
import dev.zlayer.task.BlockingPool;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.InstantSource;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;

/**
 * Deployments with their revisions, jobs with their executions and artifacts, schedules, secrets
 * with their key, tokens, events and networks as one archive. Images, containers and volumes are
 * not in it: images are pulled again, containers are made again, volumes have backups of their own.
 */
public final class StateBackup {
  private final DataDir dirs;
  private final InstantSource clock;
  private final ReentrantLock one = new ReentrantLock();

  public StateBackup(DataDir dirs, InstantSource clock) {
    this.dirs = dirs;
    this.clock = clock;
  }

  /** Writes a tar archive of the state as it is at one moment, while the agent continues. */
  public void write(OutputStream tar) throws IOException, InterruptedException {
    one.lockInterruptibly();
    Path stage = dirs.backupStage();
    try {
      RootedDirectory.removeTree(stage);
      PrivateDirectory.directory(stage);
      var copy = new DataDir(stage, stage);
      // first what the state refers to: it may then be there and not be needed, but never miss
      linked(dirs.artifacts(), copy.artifacts());
      copied(dirs.networks(), copy.networks());
      BlockingPool.STREAMS.call(
          () -> {
            SqliteStateStore.copy(dirs.stateFile(), copy.stateFile());
            return true;
          });
      PrivateDirectory.file(copy.stateFile());
      Files.copy(dirs.secretKey(), copy.secretKey());
      PrivateDirectory.file(copy.secretKey());
      new BackupFormat(
              BackupFormat.CURRENT,
              SqliteStateStore.version(),
              Version.CURRENT.version(),
              clock.instant())
          .write(stage);
      DirectoryArchive.write(stage, tar);
    } finally {
      RootedDirectory.removeTree(stage);
      one.unlock();
    }
  }

  /**
   * Gives an agent that is not running the state of a backup. An archive that cannot be used
   * changes nothing; when this process is killed while it replaces the state, no agent starts with
   * half of it ({@link #requireWhole}) and the restore can be repeated.
   *
   * @param replace discards the state that is there; otherwise there must be none
   * @throws AgentException.Conflict there is state
   * @throws AgentException.InvalidSpec the archive is no backup, or of a later program
   * @throws AgentException.Configuration the agent is running
   */
  public static BackupFormat restore(DataDir dirs, boolean replace, InputStream tar)
      throws IOException, InterruptedException {
    PrivateDirectory.directory(dirs.data());
    Path stage = dirs.restoreStage();
    try (DirectoryLock _ = DirectoryLock.take(dirs.lockFile())) {
      if (!replace && occupied(dirs)) {
        throw new AgentException.Conflict(
            "%s already holds the state of a daemon: choose another data directory, or discard that state with --replace"
                .formatted(dirs.data()));
      }
      RootedDirectory.removeTree(stage);
      PrivateDirectory.directory(stage);
      DirectoryArchive.read(stage, tar);
      BackupFormat format = BackupFormat.read(stage);
      var copy = new DataDir(stage, stage);
      if (!Files.isRegularFile(copy.stateFile(), LinkOption.NOFOLLOW_LINKS)
          || !Files.isRegularFile(copy.secretKey(), LinkOption.NOFOLLOW_LINKS)) {
        throw new AgentException.InvalidSpec("the backup is not complete: use another one");
      }
      AtomicFile.write(dirs.restoreMark(), new byte[0]);
      for (Path file : dirs.stateFiles()) {
        Files.deleteIfExists(file);
      }
      Files.deleteIfExists(dirs.secretKey());
      Files.move(copy.secretKey(), dirs.secretKey());
      replaceTree(copy.networks(), dirs.networks());
      replaceTree(copy.artifacts(), dirs.artifacts());
      AtomicFile.publish(copy.stateFile(), dirs.stateFile());
      Files.delete(dirs.restoreMark());
      AtomicFile.syncName(dirs.restoreMark());
      return format;
    } finally {
      RootedDirectory.removeTree(stage);
    }
  }

  /**
   * Keeps an agent from beginning with what an unfinished restore left.
   *
   * @throws AgentException.Configuration it has to be repeated first
   */
  public static void requireWhole(DataDir dirs) {
    if (Files.exists(dirs.restoreMark())) {
      throw new AgentException.Configuration(
          "the state in %s was being restored when that was interrupted: repeat it with 'zlayer daemon restore --replace FILE'"
              .formatted(dirs.data()));
    }
  }

  private static boolean occupied(DataDir dirs) throws IOException {
    return Files.exists(dirs.restoreMark())
        || Files.exists(dirs.stateFile())
        || Files.exists(dirs.secretKey())
        || holdsSomething(dirs.containers());
  }

  private static boolean holdsSomething(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      return false;
    }
    try (Stream<Path> all = Files.list(directory)) {
      return all.findAny().isPresent();
    }
  }

  private static void replaceTree(Path from, Path to) throws IOException {
    RootedDirectory.removeTree(to);
    if (Files.isDirectory(from, LinkOption.NOFOLLOW_LINKS)) {
      Files.move(from, to);
    }
  }

  /** The same files under other names: they are written once and then only removed. */
  private static void linked(Path from, Path to) throws IOException {
    tree(from, to, (file, copy) -> Files.createLink(copy, file));
  }

  private static void copied(Path from, Path to) throws IOException {
    tree(from, to, (file, copy) -> Files.copy(file, copy));
  }

  @FunctionalInterface
  private interface Copier {
    void copy(Path from, Path to) throws IOException;
  }

  private static void tree(Path from, Path to, Copier copier) throws IOException {
    if (!Files.isDirectory(from)) {
      return;
    }
    Files.walkFileTree(
        from,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes facts)
              throws IOException {
            PrivateDirectory.directory(to.resolve(from.relativize(directory)));
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes facts)
              throws IOException {
            try {
              copier.copy(file, to.resolve(from.relativize(file)));
            } catch (NoSuchFileException _) {
              // expired meanwhile
            }
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
            if (e instanceof NoSuchFileException) {
              return FileVisitResult.CONTINUE;
            }
            throw e;
          }
        });
  }
}
