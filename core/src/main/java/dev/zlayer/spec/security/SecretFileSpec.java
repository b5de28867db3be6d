package dev.zlayer.spec.security;

import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Shorthand;
import dev.zlayer.spec.form.Text;
import dev.zlayer.spec.value.SecretRef;
import java.util.Optional;

/** A secret that a container reads as a file. */
@Doc("A secret mounted as a read-only file in memory.")
@Shorthand(value = "name", as = "the name of a secret")
public record SecretFileSpec(
    @Doc("Secret: name, name/field or @service/name.") SecretRef name,
    @Doc("Path in the container (default: /run/secrets/NAME).")
        @Text(pattern = "/.+", write = "an absolute path")
        Optional<String> target,
    @Doc("File mode in octal, e.g. 0o400 (default: 0o444).") @Range(min = 0, max = 511)
        Optional<Integer> mode) {
  /** The path in the container. */
  public String path() {
    return target.orElseGet(
        () -> "/run/secrets/" + name.name() + name.field().map(field -> "." + field).orElse(""));
  }
}
