package dev.zlayer.spec.security;

import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Shorthand;
import dev.zlayer.spec.form.Text;
import dev.zlayer.spec.value.SecretRef;
import java.util.Optional;

/** A secret that a container reads as a file. */
@Doc("A secret as a file in memory, which the container can only read.")
@Shorthand(value = "name", as = "the name of a secret")
public record SecretFileSpec(
    @Doc("Which secret: name, name/field or @service/name.") SecretRef name,
    @Doc("Path in the container; /run/secrets/ and the name when absent.")
        @Text(pattern = "/.+", write = "an absolute path")
        Optional<String> target,
    @Doc("Permissions as a number, 0o444 when absent; write them in octal: 0o400.")
        @Range(min = 0, max = 511)
        Optional<Integer> mode) {
  /** The path in the container. */
  public String path() {
    return target.orElseGet(
        () -> "/run/secrets/" + name.name() + name.field().map(field -> "." + field).orElse(""));
  }
}
