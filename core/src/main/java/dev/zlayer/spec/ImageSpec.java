package dev.zlayer.spec;

import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Shorthand;

/** Which image to run and where it may come from. */
@Doc("Which image to run.")
@Shorthand(value = "name", as = "an image reference")
public record ImageSpec(
    @Doc("Reference: [host[:port]/]name[:tag][@digest].") ImageRef name,
    @Doc(
            "When to ask the registry: always resolves anew, newer downloads only what changed,"
                + " if_not_present is content with any local copy, never uses no network at all.")
        @Default("if_not_present")
        PullPolicy pullPolicy,
    @Doc("Which stores to ask, in which order.") @Default("local_first")
        SourcePolicy sourcePolicy) {
  /** Where to look for an image. */
  public enum SourcePolicy {
    LOCAL_FIRST,
    S3_FIRST,
    REMOTE_ONLY,
    LOCAL_ONLY
  }
}
