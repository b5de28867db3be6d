package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.value.Transport;
import java.net.InetAddress;

/** A port of the machine that leads to one container. */
@Doc("A port of the machine that leads straight to one container.")
public record PortMapping(
    @Doc("Port of the machine; a free one when absent or 0.")
        @Default("0")
        @Range(min = 0, max = 65_535)
        int hostPort,
    @Doc("Port in the container.") @Range(min = 1, max = 65_535) int containerPort,
    @Doc("Protocol.") @Default("tcp") Transport protocol,
    @Doc("Address of the machine.") @Default("0.0.0.0") InetAddress hostIp) {}
