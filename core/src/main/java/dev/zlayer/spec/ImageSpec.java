package dev.zlayer.spec;

import dev.zlayer.oci.ImageRef;
import dev.zlayer.oci.PullPolicy;
import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Shorthand;

/** Which image to run and where it may come from. */
@Doc("Image to run.")
@Shorthand(value = "name", as = "an image reference")
public record ImageSpec(
    @Doc("Reference: [host[:port]/]name[:tag][@digest].") ImageRef name,
    @Doc(
            "When to pull: always resolves the reference again, newer downloads what changed, "
                + "if_not_present accepts any local copy, never does not use the network.")
        @Default("if_not_present")
        PullPolicy pullPolicy,
    @Doc("Image sources and their order.") @Default("local_first") SourcePolicy sourcePolicy) {
  /** Where to look for an image. */
  public enum SourcePolicy {
    LOCAL_FIRST,
    S3_FIRST,
    REMOTE_ONLY,
    LOCAL_ONLY
  }
}
