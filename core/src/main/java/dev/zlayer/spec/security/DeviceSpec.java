package dev.zlayer.spec.security;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Shorthand;
import dev.zlayer.spec.form.Text;

/** A device of the machine. */
@Doc("A host device, at the same path in the container.")
@Shorthand(value = "path", as = "a path")
public record DeviceSpec(
    @Doc("Path of the device.") @Text(pattern = "/dev/.+", write = "a path below /dev") String path,
    @Doc("Allow reading.") @Default("true") boolean read,
    @Doc("Allow writing.") @Default("true") boolean write,
    @Doc("Allow mknod.") @Default("false") boolean mknod) {}
