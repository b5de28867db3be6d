package dev.zlayer.runtime.cni;

import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;

/**
 * A server for the inside of a namespace: {@code tcp PORT TEXT} greets each connection with the
 * text, {@code keep PORT TEXT} then sends back what it reads until the client ends, {@code udp
 * PORT} sends each datagram back.
 */
final class EchoServer {
  private EchoServer() {}

  public static void main(String[] arguments) throws Exception {
    int port = Integer.parseInt(arguments[1]);
    if (arguments[0].equals("tcp")) {
      try (var server = new ServerSocket(port)) {
        System.out.println("ready");
        while (true) {
          try (var connection = server.accept()) {
            connection.getOutputStream().write(arguments[2].getBytes(StandardCharsets.UTF_8));
          }
        }
      }
    }
    if (arguments[0].equals("keep")) {
      keep(port, arguments[2]);
    }
    try (var socket = new DatagramSocket(port)) {
      System.out.println("ready");
      while (true) {
        var packet = new DatagramPacket(new byte[1500], 1500);
        socket.receive(packet);
        socket.send(packet);
      }
    }
  }

  private static void keep(int port, String text) throws Exception {
    try (var server = new ServerSocket(port)) {
      System.out.println("ready");
      while (true) {
        var connection = server.accept();
        Thread.startVirtualThread(
            () -> {
              try (connection) {
                connection.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
                connection.getInputStream().transferTo(connection.getOutputStream());
              } catch (java.io.IOException _) {
                // the client is gone
              }
            });
      }
    }
  }
}
