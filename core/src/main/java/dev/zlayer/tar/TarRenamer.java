package dev.zlayer.tar;

import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/** Passes a tar stream on with another name for what is at its top. */
public final class TarRenamer {
  private static final int SET_USER_AND_GROUP = 06000;

  private TarRenamer() {}

  public static void change(InputStream in, OutputStream out, String name) throws IOException {
    change(in, out, Optional.of(name), UnaryOperator.identity(), _ -> true);
  }

  /**
   * For files that were made by somebody else and get another owner: no program runs with the
   * rights of that owner then, and no device can be opened.
   *
   * @param name at the top; as it is when absent
   * @param skipped is told the names of devices, which are left out
   */
  public static void disarm(
      InputStream in, OutputStream out, Optional<String> name, Consumer<String> skipped)
      throws IOException {
    change(
        in,
        out,
        name,
        member -> member.withPermissions(member.permissions() & ~SET_USER_AND_GROUP),
        member -> {
          boolean device =
              member.kind() == TarKind.BLOCK_DEVICE || member.kind() == TarKind.CHARACTER_DEVICE;
          if (device) {
            skipped.accept(member.name());
          }
          return !device;
        });
  }

  private static void change(
      InputStream in,
      OutputStream out,
      Optional<String> name,
      UnaryOperator<TarMember> changed,
      Predicate<TarMember> wanted)
      throws IOException {
    // names in archives are bytes, one per character
    Optional<String> raw =
        name.map(
            text -> new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1));
    var reader = new TarReader(in);
    var writer = new TarWriter(out);
    for (Optional<TarMember> member = reader.next(); member.isPresent(); member = reader.next()) {
      if (!wanted.test(member.get())) {
        continue;
      }
      TarMember kept = changed.apply(member.get());
      TarMember renamed = raw.map(top -> renamed(kept, top)).orElse(kept);
      if (renamed.kind() == TarKind.FILE) {
        writer.begin(renamed, reader.parts()); // holes stay holes
        content(reader, writer);
      } else {
        writer.begin(renamed);
      }
    }
    writer.finish();
    in.transferTo(OutputStream.nullOutputStream()); // so that whoever writes ends in peace
  }

  private static void content(TarReader reader, TarWriter writer) throws IOException {
    try {
      reader.content((_, data, from, length) -> writer.content(data, from, length));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AgentException.Internal("copying was interrupted", e);
    }
  }

  private static TarMember renamed(TarMember member, String name) {
    String link =
        member.kind() == TarKind.HARD_LINK ? top(member.linkName(), name) : member.linkName();
    return new TarMember(
        member.kind(),
        top(member.name(), name),
        link,
        member.permissions(),
        member.user(),
        member.group(),
        member.size(),
        member.accessed(),
        member.modified(),
        member.major(),
        member.minor(),
        member.attributes());
  }

  private static String top(String path, String name) {
    String clean = path.startsWith("./") ? path.substring(2) : path;
    int slash = clean.indexOf('/');
    return slash < 0 ? name : name + clean.substring(slash);
  }
}
