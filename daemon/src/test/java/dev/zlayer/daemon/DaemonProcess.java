package dev.zlayer.daemon;

import dev.zlayer.daemon.config.ConfigReader;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** A daemon in a process of its own, which a test can kill. Arguments: key=value. */
public final class DaemonProcess {
  private DaemonProcess() {}

  public static void main(String[] arguments) throws Exception {
    Map<String, String> flags = new HashMap<>();
    for (String argument : arguments) {
      String[] parts = argument.split("=", 2);
      flags.put(parts[0], parts[1]);
    }
    var serve = new Serve();
    Runtime.getRuntime().addShutdownHook(new Thread(serve::stop));
    serve.run(ConfigReader.read(Optional.empty(), Map.of(), flags), System.getenv(), System.err);
  }
}
