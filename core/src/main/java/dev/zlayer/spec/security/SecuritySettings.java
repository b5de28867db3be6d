package dev.zlayer.spec.security;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Keys;
import dev.zlayer.spec.form.Named;
import dev.zlayer.spec.form.Text;
import dev.zlayer.spec.value.Capability;
import dev.zlayer.spec.value.UserName;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What a container may do. */
public record SecuritySettings(
    @Doc("Capabilities added to the default set; with or without CAP_, or ALL.")
        @Named(alias = "cap_add")
        List<Capability> capabilities,
    @Doc("Capabilities to drop; ALL drops the default set.") List<Capability> capDrop,
    @Doc("All capabilities and all devices. Use with care.") @Default("false") boolean privileged,
    @Doc("User and group (default: the image's).") Optional<UserName> user,
    @Doc("Supplementary groups, as numbers or names.")
        @Text(pattern = "[0-9]+|[A-Za-z_][A-Za-z0-9_.-]*", write = "a group number or name")
        List<String> extraGroups,
    @Doc("Make the root file system read-only.") @Default("false") boolean readOnlyRootFs,
    @Doc(
            "Options: no-new-privileges[:true|false], seccomp=unconfined or a file,"
                + " apparmor=profile, label=disable.")
        @Text(
            pattern = "no-new-privileges(:true|:false)?|(seccomp|apparmor|label)[=:].+",
            write = "no-new-privileges, seccomp=..., apparmor=... or label=...")
        List<String> securityOpt,
    @Doc("PID namespace: its own (default), host or container:ID.")
        @Text(pattern = "private|host|container:.+", write = "private, host or container:ID")
        Optional<String> pidMode,
    @Doc("IPC namespace: its own (default), shareable, host, none or container:ID.")
        @Text(
            pattern = "private|shareable|host|none|container:.+",
            write = "private, shareable, host, none or container:ID")
        Optional<String> ipcMode,
    @Doc(
            "User namespace: private, so that root inside is an unprivileged user of the host, or"
                + " host (default: as the agent is configured).")
        @Text(pattern = "private|host", write = "private or host")
        Optional<String> usernsMode,
    @Doc("Namespaced kernel parameters: net.*, fs.mqueue.*, kernel.shm*, kernel.msg*, kernel.sem.")
        @Keys(
            pattern = "(net\\.|fs\\.mqueue\\.|kernel\\.(shm|msg|sem))[a-zA-Z0-9_./-]*",
            write = "a setting that containers have of their own: net.*, fs.mqueue.*, kernel.shm*")
        Map<String, String> sysctls,
    @Doc("Resource limits per process; -1 for no limit (default: nofile 1024:524288).")
        @Keys(
            pattern =
                "cpu|fsize|data|stack|core|rss|nproc|nofile|memlock|as|locks|sigpending|msgqueue"
                    + "|nice|rtprio|rttime",
            write =
                "one of cpu, fsize, data, stack, core, rss, nproc, nofile, memlock, as, locks,"
                    + " sigpending, msgqueue, nice, rtprio, rttime")
        Map<String, UlimitSpec> ulimits,
    @Doc("Host devices.") List<DeviceSpec> devices,
    @Doc("Parent cgroup.") @Text(pattern = "[^\\s]+", write = "a path such as /system.slice")
        Optional<String> cgroupParent) {}
