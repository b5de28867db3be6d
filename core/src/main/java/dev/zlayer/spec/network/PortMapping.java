package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.value.Transport;
import java.net.InetAddress;

/** A port of the machine that leads to one container. */
@Doc("A host port published to one container.")
public record PortMapping(
    @Doc("Host port (default: a free one, also for 0).") @Default("0") @Range(min = 0, max = 65_535)
        int hostPort,
    @Doc("Port in the container.") @Range(min = 1, max = 65_535) int containerPort,
    @Doc("Protocol.") @Default("tcp") Transport protocol,
    @Doc("Host address.") @Default("0.0.0.0") InetAddress hostIp) {}
