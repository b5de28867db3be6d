package dev.zlayer.container;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class IpTextTest {
  @ParameterizedTest
  @CsvSource({
    "10.1.2.3, 10.1.2.3, 10.1.2.3",
    "0:0:0:0:0:0:0:0, ::, [::]",
    "0:0:0:0:0:0:0:1, ::1, [::1]",
    "FD00:12:0:0:0:0:0:2, fd00:12::2, [fd00:12::2]",
    "fd00:0:0:1:0:0:0:2, fd00:0:0:1::2, [fd00:0:0:1::2]",
    "2001:db8:0:1:1:1:1:1, 2001:db8:0:1:1:1:1:1, [2001:db8:0:1:1:1:1:1]",
    "2001:db8:0:0:1:0:0:1, 2001:db8::1:0:0:1, [2001:db8::1:0:0:1]",
    "fd00:1:2:3:0:0:0:0, fd00:1:2:3::, [fd00:1:2:3::]"
  })
  void addressesAreShort(String written, String text, String beforePort) {
    InetAddress address = InetAddress.ofLiteral(written);
    assertThat(IpText.of(address)).isEqualTo(text);
    assertThat(IpText.beforePort(address)).isEqualTo(beforePort);
    assertThat(InetAddress.ofLiteral(text)).isEqualTo(address);
  }
}
