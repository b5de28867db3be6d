package dev.zlayer.engine.health;

import dev.zlayer.error.AgentException;
import dev.zlayer.error.Durations;
import dev.zlayer.task.Deadline;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;

/**
 * One GET request of which only the first line of the answer is read. The address is the
 * container's own, so its certificate, made for another name, is not looked at.
 */
public final class HttpProbe {
  private static final Pattern STATUS_LINE = Pattern.compile("HTTP/1\\.[01] ([1-5][0-9]{2})\\b.*");
  private static final int LONGEST_LINE = 4096;

  /** Made when the first secure address is checked; it is large, and all services share it. */
  private static final class Tls {
    static final SSLContext TRUSTING = trusting();
  }

  public ProbeResult check(Probe.Http probe, InetAddress container, Duration timeout) {
    URI url = URI.create(probe.url());
    boolean secure = url.getScheme().equals("https");
    int port = url.getPort() > 0 ? url.getPort() : secure ? 443 : 80;
    Deadline deadline = Deadline.after(timeout);
    try (Socket plain = new Socket()) {
      plain.connect(new InetSocketAddress(container, port), Prober.millis(timeout));
      plain.setSoTimeout(Prober.millis(deadline.left()));
      try (Socket socket = secure ? secured(plain, url) : plain) {
        socket.getOutputStream().write(request(probe, url, port));
        socket.getOutputStream().flush();
        return judge(probe, line(socket.getInputStream(), deadline));
      }
    } catch (SocketTimeoutException _) {
      return ProbeResult.bad("no answer within " + Durations.print(timeout));
    } catch (IOException e) {
      return ProbeResult.bad("%s: %s".formatted(probe.url(), e.getMessage()));
    }
  }

  private static Socket secured(Socket plain, URI url) throws IOException {
    return Tls.TRUSTING.getSocketFactory().createSocket(plain, url.getHost(), url.getPort(), true);
  }

  private static byte[] request(Probe.Http probe, URI url, int port) {
    String path = url.getRawPath() == null || url.getRawPath().isEmpty() ? "/" : url.getRawPath();
    var text = new StringBuilder("GET ").append(path);
    if (url.getRawQuery() != null) {
      text.append('?').append(url.getRawQuery());
    }
    text.append(" HTTP/1.1\r\n");
    if (probe.headers().keySet().stream().noneMatch("host"::equalsIgnoreCase)) {
      text.append("Host: ").append(url.getHost()).append(':').append(port).append("\r\n");
    }
    probe
        .headers()
        .forEach((name, value) -> text.append(name).append(": ").append(value).append("\r\n"));
    text.append("User-Agent: zlayer\r\nConnection: close\r\n\r\n");
    return text.toString().getBytes(StandardCharsets.UTF_8);
  }

  /** A peer that sends a byte now and then must not hold the check for ever. */
  private static String line(InputStream in, Deadline deadline) throws IOException {
    var line = new ByteArrayOutputStream();
    for (int next = in.read(); next != '\n'; next = in.read()) {
      if (next < 0 || line.size() > LONGEST_LINE) {
        throw new IOException("the answer is not HTTP");
      }
      if (deadline.passed()) {
        throw new SocketTimeoutException();
      }
      line.write(next);
    }
    return line.toString(StandardCharsets.ISO_8859_1).strip();
  }

  private static ProbeResult judge(Probe.Http probe, String line) throws IOException {
    Matcher status = STATUS_LINE.matcher(line);
    if (!status.matches()) {
      throw new IOException("the answer is not HTTP");
    }
    boolean expected = probe.expect().contains(Integer.parseInt(status.group(1)));
    String text = "status " + status.group(1);
    return expected
        ? ProbeResult.good(text)
        : ProbeResult.bad("%s instead of %s".formatted(text, probe.expect()));
  }

  private static SSLContext trusting() {
    var anybody =
        new X509TrustManager() {
          @Override
          public void checkClientTrusted(X509Certificate[] chain, String type) {}

          @Override
          public void checkServerTrusted(X509Certificate[] chain, String type) {}

          @Override
          public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
          }
        };
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, new TrustManager[] {anybody}, new SecureRandom());
      return context;
    } catch (GeneralSecurityException e) {
      throw new AgentException.Internal("this JDK has no TLS", e);
    }
  }
}
