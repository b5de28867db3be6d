package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.value.Transport;

/** A tunnel between two nodes. */
@Doc("A tunnel between two nodes.")
public record TunnelSpec(
    @Doc("Node where it begins.") String from,
    @Doc("Node where it ends.") String to,
    @Doc("Port at the near end.") @Range(min = 1, max = 65_535) int localPort,
    @Doc("Port at the far end.") @Range(min = 1, max = 65_535) int remotePort,
    @Doc("Protocol.") @Default("tcp") Transport protocol,
    @Doc("From where it can be reached.") @Default("internal") Exposure expose) {}
