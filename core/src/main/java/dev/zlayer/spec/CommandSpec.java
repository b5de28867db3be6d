package dev.zlayer.spec;

import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Shorthand;
import dev.zlayer.spec.form.Text;
import java.util.List;
import java.util.Optional;

/** What to run instead of what the image says. What is absent is taken from the image. */
@Doc("Overrides the image's entrypoint and arguments; a plain list sets args.")
@Shorthand(value = "args", as = "a list")
public record CommandSpec(
    @Doc("Replaces the image's entrypoint; the image's arguments are then not used.")
        Optional<List<String>> entrypoint,
    @Doc("Replaces the image's arguments; the image's entrypoint stays.")
        Optional<List<String>> args,
    @Doc("Working directory.") @Text(pattern = "(/|[A-Za-z]:).*", write = "an absolute path")
        Optional<String> workdir) {}
