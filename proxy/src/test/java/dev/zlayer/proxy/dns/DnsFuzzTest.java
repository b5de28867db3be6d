package dev.zlayer.proxy.dns;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.testkit.fuzz.Fuzzer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.xbill.DNS.DClass;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.OPTRecord;
import org.xbill.DNS.Rcode;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;
import org.xbill.DNS.Type;

/** Questions to the name server, damaged: each has an answer that fits, or none. */
class DnsFuzzTest {
  private static final int ROOM = 1232;
  private static final List<String> WORDS =
      List.of("\u0000", "\u0001", "web", "zlayer", "internal", "?", "\u00c0\f", "\u00ff\u00ff");

  private final Answers answers = new Answers(new Directory());

  @Test
  void questionsAreAnsweredOrDropped() throws Exception {
    var sound = new ArrayList<byte[]>();
    for (String name : List.of("web.", "web.shop.zlayer.internal.", "example.com.", ".")) {
      for (int type : List.of(Type.A, Type.AAAA, Type.ANY, Type.PTR)) {
        Message query = Message.newQuery(Record.newRecord(Name.fromString(name), type, DClass.IN));
        sound.add(query.toWire());
        query.addRecord(new OPTRecord(4096, 0, 0), Section.ADDITIONAL);
        sound.add(query.toWire());
      }
    }
    new Fuzzer("fuzz/dns", 8_000, sound, WORDS, _ -> false, this::answer).run();
  }

  private void answer(byte[] question) {
    var query = Answers.parse(question);
    if (query.isPresent()) {
      Message reply =
          answers
              .answer(query.get(), "shop")
              .orElseGet(() -> Answers.reply(query.get(), Rcode.SERVFAIL));
      assertThat(Answers.datagram(query.get(), reply)).hasSizeLessThanOrEqualTo(ROOM);
      assertThat(reply.toWire(Answers.MOST_BYTES)).hasSizeGreaterThanOrEqualTo(12);
    }
  }
}
