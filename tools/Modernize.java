import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * Gives the classes of a jar stack maps and a version that has them, in place. The AOT cache takes no
 * classes older than that, and a library built for Java 5 then costs a third of the start of a command.
 */
class Modernize {
  private static final int JAVA_11 = 55;

  public static void main(String[] jars) throws IOException {
    for (String jar : jars) {
      modernize(Path.of(jar));
    }
  }

  private static void modernize(Path jar) throws IOException {
    Path copy = Files.createTempFile("modernize", ".jar");
    Files.copy(jar, copy, java.nio.file.StandardCopyOption.REPLACE_EXISTING);
    try (var loader = new URLClassLoader(new URL[] {copy.toUri().toURL()});
        FileSystem files = FileSystems.newFileSystem(URI.create("jar:" + jar.toUri()), java.util.Map.of())) {
      var known = ClassHierarchyResolver.ofClassLoading(loader).orElse(ClassHierarchyResolver.defaultResolver());
      var tool =
          ClassFile.of(
              ClassFile.ClassHierarchyResolverOption.of(known),
              ClassFile.StackMapsOption.GENERATE_STACK_MAPS);
      List<Path> classes;
      try (Stream<Path> all = Files.walk(files.getPath("/"))) {
        classes = all.filter(file -> file.toString().endsWith(".class")).toList();
      }
      for (Path file : classes) {
        ClassModel model = tool.parse(Files.readAllBytes(file));
        if (model.majorVersion() < JAVA_11 && !file.endsWith("module-info.class")) {
          Files.write(file, rebuilt(tool, model));
        }
      }
    } finally {
      Files.delete(copy);
    }
  }

  private static byte[] rebuilt(ClassFile tool, ClassModel model) {
    return tool.build(
        model.thisClass().asSymbol(),
        builder -> {
          model.forEach(
              element -> {
                if (element instanceof java.lang.classfile.MethodModel method) {
                  builder.transformMethod(
                      method,
                      (to, part) -> {
                        if (part instanceof java.lang.classfile.CodeModel code) {
                          to.transformCode(code, (body, instruction) -> body.with(instruction));
                        } else {
                          to.with(part);
                        }
                      });
                } else if (!(element instanceof java.lang.classfile.ClassFileVersion)) {
                  builder.with(element);
                }
              });
          builder.withVersion(JAVA_11, 0);
        });
  }
}
