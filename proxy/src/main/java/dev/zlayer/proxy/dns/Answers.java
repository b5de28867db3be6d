package dev.zlayer.proxy.dns;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.xbill.DNS.AAAARecord;
import org.xbill.DNS.ARecord;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Flags;
import org.xbill.DNS.Header;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.OPTRecord;
import org.xbill.DNS.Opcode;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Record;
import org.xbill.DNS.SOARecord;
import org.xbill.DNS.Section;
import org.xbill.DNS.Type;

/** Makes messages out of findings. No threads, no sockets. */
final class Answers {
  static final int MOST_BYTES = 65_535;

  private static final int SMALLEST = 512;

  /** What we say in datagrams, so that none is cut into pieces on its way. */
  private static final int LARGEST_DATAGRAM = 1_232;

  /** Members come and go: whoever keeps an answer does so for a moment. */
  private static final int TTL_SECONDS = 2;

  private final Directory directory;

  Answers(Directory directory) {
    this.directory = directory;
  }

  /** Empty when other servers have to be asked. */
  Optional<Message> answer(Message query, String deployment) {
    return answer(query, deployment, Optional.empty());
  }

  /** The same for one who is known by an address. */
  Optional<Message> answer(Message query, String deployment, Optional<InetAddress> client) {
    Record question = query.getQuestion();
    Header header = query.getHeader();
    if (question == null
        || header.getOpcode() != Opcode.QUERY
        || header.getFlag(Flags.QR)
        || header.getCount(Section.QUESTION) != 1) {
      return Optional.of(reply(query, Rcode.NOTIMP));
    }
    String name = question.getName().toString(true);
    return switch (directory.find(deployment, client, name)) {
      case Directory.Finding.Foreign() -> Optional.empty();
      case Directory.Finding.Unknown() -> Optional.of(without(query, Rcode.NXDOMAIN));
      case Directory.Finding.Found(var addresses) ->
          Optional.of(
              asked(question, addresses).isEmpty()
                  ? without(query, Rcode.NOERROR)
                  : with(query, asked(question, addresses)));
    };
  }

  /** An answer without content: refused, failed. */
  static Message reply(Message query, int code) {
    var reply = new Message(query.getHeader().getID());
    Header header = reply.getHeader();
    header.setOpcode(query.getHeader().getOpcode());
    header.setFlag(Flags.QR);
    header.setFlag(Flags.RA);
    if (query.getHeader().getFlag(Flags.RD)) {
      header.setFlag(Flags.RD);
    }
    header.setRcode(code);
    Record question = query.getQuestion();
    if (question != null) {
      reply.addRecord(question, Section.QUESTION);
    }
    if (query.getOPT() != null) {
      reply.addRecord(new OPTRecord(LARGEST_DATAGRAM, 0, 0), Section.ADDITIONAL);
    }
    return reply;
  }

  /** The bytes of a datagram: cut, and marked as cut, when the asker cannot take all. */
  static byte[] datagram(Message query, Message reply) {
    OPTRecord offer = query.getOPT();
    int room = offer == null ? SMALLEST : Math.max(SMALLEST, offer.getPayloadSize());
    return reply.toWire(Math.min(room, LARGEST_DATAGRAM));
  }

  static Optional<Message> parse(byte[] bytes) {
    try {
      return Optional.of(new Message(bytes));
    } catch (IOException | RuntimeException _) {
      return Optional.empty(); // not a message: nobody waits for an answer to it
    }
  }

  /** The addresses of the kind that the question is for. */
  private static List<InetAddress> asked(Record question, List<InetAddress> addresses) {
    if (question.getDClass() != DClass.IN) {
      return List.of();
    }
    return switch (question.getType()) {
      case Type.ANY -> addresses;
      case Type.A -> addresses.stream().filter(Inet4Address.class::isInstance).toList();
      case Type.AAAA -> addresses.stream().filter(Inet6Address.class::isInstance).toList();
      default -> List.of();
    };
  }

  private static Message with(Message query, List<InetAddress> addresses) {
    Message reply = reply(query, Rcode.NOERROR);
    reply.getHeader().setFlag(Flags.AA);
    var shuffled = new ArrayList<>(addresses);
    Collections.shuffle(shuffled);
    Name name = query.getQuestion().getName();
    for (InetAddress address : shuffled) {
      reply.addRecord(
          address instanceof Inet6Address
              ? new AAAARecord(name, DClass.IN, TTL_SECONDS, address)
              : new ARecord(name, DClass.IN, TTL_SECONDS, address),
          Section.ANSWER);
    }
    return reply;
  }

  /** The authority record says how long it may be remembered that there was nothing. */
  private static Message without(Message query, int code) {
    Message reply = reply(query, code);
    reply.getHeader().setFlag(Flags.AA);
    Name name = query.getQuestion().getName();
    reply.addRecord(
        new SOARecord(name, DClass.IN, TTL_SECONDS, name, name, 1, 3_600, 600, 86_400, TTL_SECONDS),
        Section.AUTHORITY);
    return reply;
  }
}
