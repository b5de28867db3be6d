import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * Puts the classes and resources of several jars, and of directories, into one, the same bytes each
 * time. Of classes for several Java versions it takes those for this one, lists of services are
 * joined, and what is named last counts. Usage: MergeJars RESULT JAR|DIRECTORY...
 */
class MergeJars {
  private static final String VERSIONS = "META-INF/versions/";
  private static final LocalDateTime TIME = LocalDateTime.of(2026, 11, 1, 0, 0);

  public static void main(String[] names) throws IOException {
    Map<String, byte[]> files = new TreeMap<>();
    for (int i = 1; i < names.length; i++) {
      Path source = Path.of(names[i]);
      if (Files.isDirectory(source)) {
        directory(source, files);
      } else {
        jar(source, files);
      }
    }
    files.put(
        JarFile.MANIFEST_NAME, "Manifest-Version: 1.0\r\n\r\n".getBytes(StandardCharsets.UTF_8));
    try (OutputStream out = Files.newOutputStream(Path.of(names[0]));
        var zip = new ZipOutputStream(out)) {
      write(zip, JarFile.MANIFEST_NAME, files.remove(JarFile.MANIFEST_NAME));
      for (Map.Entry<String, byte[]> file : files.entrySet()) {
        write(zip, file.getKey(), file.getValue());
      }
    }
  }

  private static void directory(Path root, Map<String, byte[]> files) throws IOException {
    try (var all = Files.walk(root)) {
      for (Path file : all.filter(Files::isRegularFile).toList()) {
        files.put(root.relativize(file).toString(), Files.readAllBytes(file));
      }
    }
  }

  private static void jar(Path path, Map<String, byte[]> files) throws IOException {
    try (var jar = new JarFile(path.toFile(), false, JarFile.OPEN_READ, Runtime.version())) {
      for (JarEntry entry : jar.versionedStream().toList()) {
        String name = entry.getName();
        if (entry.isDirectory() || unwanted(name)) {
          continue;
        }
        byte[] bytes;
        try (var in = jar.getInputStream(entry)) {
          bytes = in.readAllBytes();
        }
        if (name.startsWith("META-INF/services/")) {
          files.merge(name, bytes, MergeJars::lines);
        } else {
          files.put(name, bytes);
        }
      }
    }
  }

  /** Signatures and module names hold for one jar; licences are shipped beside. */
  private static boolean unwanted(String name) {
    return name.equals("module-info.class")
        || name.startsWith(VERSIONS)
        || name.startsWith("META-INF/maven/")
        || name.matches("META-INF/[^/]*")
        || name.matches("(LICENSE|NOTICE)[^/]*");
  }

  private static byte[] lines(byte[] one, byte[] other) {
    var all = new ByteArrayOutputStream();
    all.writeBytes(one);
    all.write('\n');
    all.writeBytes(other);
    return all.toByteArray();
  }

  private static void write(ZipOutputStream zip, String name, byte[] bytes) throws IOException {
    var entry = new ZipEntry(name);
    entry.setTimeLocal(TIME);
    zip.putNextEntry(entry);
    zip.write(bytes);
    zip.closeEntry();
  }
}
