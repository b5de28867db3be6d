package dev.zlayer.daemon.http;

import java.io.File;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds the services that the HTTP server asks Java for in the server's own jars. Java would open
 * every jar of the class path for each of them, which takes longer than the server needs to start.
 */
final class ServerServices extends ClassLoader implements AutoCloseable {
  private static final String SERVICES = "META-INF/services/org.eclipse.jetty.";
  private static final String JAR = "jetty-";

  private final URLClassLoader jars;

  /** Whether they are looked into; a thread of the server may keep this loader for longer. */
  private volatile boolean separate;

  /** With {@code parent} for all else, and for services where the server has no jars of its own. */
  ServerServices(@Nullable ClassLoader parent) {
    this(parent, jars(System.getProperty("java.class.path", "")));
  }

  private ServerServices(@Nullable ClassLoader parent, List<URL> own) {
    super(parent);
    this.jars = new URLClassLoader(own.toArray(URL[]::new), null);
    this.separate = !own.isEmpty();
  }

  private static List<URL> jars(String classPath) {
    var own = new ArrayList<URL>();
    for (String entry : classPath.split(File.pathSeparator, -1)) {
      Path name = Path.of(entry).getFileName();
      if (name != null && name.toString().startsWith(JAR) && entry.endsWith(".jar")) {
        try {
          own.add(Path.of(entry).toUri().toURL());
        } catch (MalformedURLException e) {
          throw new IllegalStateException(e); // the URL of a file is well formed
        }
      }
    }
    return own;
  }

  @Override
  public Enumeration<URL> getResources(String name) throws IOException {
    return separate && name.startsWith(SERVICES)
        ? jars.findResources(name)
        : super.getResources(name);
  }

  @Override
  public void close() throws IOException {
    separate = false;
    jars.close();
  }
}
