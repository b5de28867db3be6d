package dev.zlayer.cli;

import java.net.DatagramPacket;
import java.net.DatagramSocket;

/** Sends each datagram back: {@code PORT}; for the network of a container. */
public final class DatagramEcho {
  private DatagramEcho() {}

  public static void main(String[] arguments) throws Exception {
    try (var socket = new DatagramSocket(Integer.parseInt(arguments[0]))) {
      var packet = new DatagramPacket(new byte[1500], 1500);
      while (true) {
        packet.setLength(1500);
        socket.receive(packet);
        socket.send(packet);
      }
    }
  }
}
