package dev.zlayer.cli.layers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.constantpool.ClassEntry;
import java.lang.classfile.constantpool.MemberRefEntry;
import java.lang.classfile.constantpool.StringEntry;
import java.lang.classfile.constantpool.Utf8Entry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * What one class file mentions.
 *
 * @param name with dots
 * @param classes every class it names, also in descriptors
 * @param members every member it uses, as {@code owner#name}
 * @param strings its string constants
 */
record CompiledClass(String name, Set<String> classes, Set<String> members, Set<String> strings) {
  private static final Pattern IN_DESCRIPTOR = Pattern.compile("L([\\w/$]+)[;<]");

  static CompiledClass read(Path file) {
    try {
      ClassModel model = ClassFile.of().parse(Files.readAllBytes(file));
      var classes = new TreeSet<String>();
      var members = new TreeSet<String>();
      var strings = new TreeSet<String>();
      for (var entry : model.constantPool()) {
        switch (entry) {
          case ClassEntry type -> classes.add(dotted(type.asInternalName()));
          case MemberRefEntry member ->
              members.add(dotted(member.owner().asInternalName()) + "#" + member.name());
          case StringEntry string -> strings.add(string.stringValue());
          case Utf8Entry text -> {
            var matcher = IN_DESCRIPTOR.matcher(text.stringValue());
            while (matcher.find()) {
              classes.add(dotted(matcher.group(1)));
            }
          }
          default -> {}
        }
      }
      return new CompiledClass(
          dotted(model.thisClass().asInternalName()), classes, members, strings);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String dotted(String internal) {
    return internal.replace('/', '.').replaceAll("^\\[+L?|;$", "");
  }

  String packageName() {
    return name.substring(0, name.lastIndexOf('.'));
  }

  /** The name of the outermost class. */
  String topLevel() {
    int dollar = name.indexOf('$');
    return dollar < 0 ? name : name.substring(0, dollar);
  }
}
