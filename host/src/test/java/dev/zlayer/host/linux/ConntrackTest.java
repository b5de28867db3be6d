package dev.zlayer.host.linux;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.StringReader;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ConntrackTest {
  private static final String TABLE =
      """
      ipv4     2 tcp      6 116 TIME_WAIT src=127.0.0.1 dst=127.0.0.1 sport=1 dport=80 src=10.0.0.2 dst=10.0.0.1 sport=80 dport=1 [ASSURED] mark=0 zone=0 use=2
      ipv4     2 tcp      6 431999 ESTABLISHED src=127.0.0.1 dst=127.0.0.1 sport=2 dport=80 src=10.0.0.2 dst=10.0.0.1 sport=80 dport=2 [ASSURED] mark=0 zone=0 use=2
      ipv4     2 tcp      6 60 SYN_RECV src=192.0.2.9 dst=192.0.2.1 sport=3 dport=80 src=10.0.0.2 dst=192.0.2.9 sport=80 dport=3 mark=0 zone=0 use=2
      ipv4     2 tcp      6 60 ESTABLISHED src=10.0.0.2 dst=192.0.2.1 sport=3 dport=80 src=192.0.2.1 dst=192.0.2.9 sport=80 dport=3 mark=0 zone=0 use=2
      ipv4     2 tcp      6 60 ESTABLISHED src=127.0.0.1 dst=127.0.0.1 sport=2 dport=80 src=10.0.0.22 dst=10.0.0.1 sport=80 dport=2 mark=0 use=2
      ipv4     2 udp      17 28 src=10.0.0.3 dst=10.0.0.1 sport=9 dport=53 src=10.0.0.2 dst=10.0.0.3 sport=53 dport=9 mark=0 zone=0 use=2
      """;

  @Test
  void countsWhatIsOpenToAnAddress() throws IOException {
    assertThat(count("10.0.0.2")).isEqualTo(2);
    assertThat(count("10.0.0.22")).isEqualTo(1);
    assertThat(count("10.0.0.3")).isZero();
  }

  @Test
  void tellsWhatWouldLeadAClientThereAgain() throws IOException {
    assertThat(Conntrack.sticky(table(), "10.0.0.2"))
        .containsExactly("ESTABLISHED", "SYN_RECV", "udp");
    assertThat(Conntrack.sticky(table(), "10.0.0.3")).isEmpty();
  }

  @Test
  void findsWhoAnswersDatagramsToAPort() throws IOException {
    assertThat(Conntrack.datagramServers(table(), Optional.empty(), 53))
        .containsExactly("10.0.0.2");
    assertThat(Conntrack.datagramServers(table(), Optional.of("10.0.0.1"), 53)).hasSize(1);
    assertThat(Conntrack.datagramServers(table(), Optional.of("10.0.0.9"), 53)).isEmpty();
    assertThat(Conntrack.datagramServers(table(), Optional.empty(), 9)).isEmpty();
  }

  private static BufferedReader table() {
    return new BufferedReader(new StringReader(TABLE));
  }

  private static int count(String address) throws IOException {
    return Conntrack.count(table(), address);
  }
}
