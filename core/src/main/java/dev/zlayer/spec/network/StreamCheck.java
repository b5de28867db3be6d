package dev.zlayer.spec.network;

import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Tagged;
import java.util.Optional;

/** How to check a tcp or udp endpoint. */
@Doc("How to check a tcp or udp endpoint, chosen by type.")
@Tagged(by = "type")
public sealed interface StreamCheck {
  @Doc("The port accepts connections.")
  record TcpConnect() implements StreamCheck {}

  @Doc("A datagram is answered.")
  record UdpProbe(
      @Doc("What to send.") String request, @Doc("What to expect.") Optional<String> expect)
      implements StreamCheck {}
}
