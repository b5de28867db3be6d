package dev.zlayer.daemon.docker;

import dev.zlayer.container.ConnectionSpec;
import dev.zlayer.container.IpText;
import dev.zlayer.json.Json;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** How a request wants a container to be on a network, in the words of Docker's endpoints. */
final class EndpointOptions {
  /** The list of fields is the same wherever an endpoint is described. */
  private static final String ROUTE = "POST /networks/{id}/connect";

  /** Begins the options that Docker's bridges know. */
  private static final String KNOWN_OPTION = "com.docker.network.";

  private EndpointOptions() {}

  /**
   * Translates; what cannot be honoured is refused.
   *
   * @param shown begins the name of a field in a refusal
   */
  static ConnectionSpec of(Json given, String shown) {
    Json settings = RequestFields.checked(ROUTE, "EndpointConfig.", given, shown);
    Json ipam = settings.at("IPAMConfig");
    var addresses = new ArrayList<InetAddress>();
    address(ipam, "IPv4Address", true).ifPresent(addresses::add);
    address(ipam, "IPv6Address", false).ifPresent(addresses::add);
    settings.at("DriverOpts").members().keySet().stream()
        .filter(name -> name.startsWith(KNOWN_OPTION))
        .findFirst()
        .ifPresent(
            name -> {
              throw DockerError.unsupportedField(
                  shown + "DriverOpts." + name, "bridges have no such option");
            });
    return new ConnectionSpec(
        settings.at("Aliases").strings(),
        addresses,
        mac(settings),
        settings.at("Links").strings().stream().map(ConnectionSpec.Link::parse).toList(),
        settings.at("DriverOpts").stringMap());
  }

  private static Optional<InetAddress> address(Json ipam, String name, boolean fourth) {
    Optional<InetAddress> address =
        ipam.at(name).string().filter(text -> !text.isEmpty()).map(ConnectOptions::address);
    if (address.filter(one -> one instanceof Inet4Address != fourth).isPresent()) {
      throw DockerError.badRequest(
          "invalid %s address: %s".formatted(name.substring(0, 4), IpText.of(address.get())));
    }
    return address;
  }

  /** The address that a container or one of its endpoints asks for its interface. */
  static Optional<String> mac(Json settings) {
    Optional<String> mac =
        settings
            .at("MacAddress")
            .string()
            .filter(text -> !text.isEmpty())
            .map(text -> text.toLowerCase(Locale.ROOT).replace('-', ':'));
    if (mac.filter(text -> !text.matches("[0-9a-f]{2}(:[0-9a-f]{2}){5}")).isPresent()) {
      throw DockerError.badRequest(
          "invalid MAC address: %s".formatted(settings.at("MacAddress").string().orElse("")));
    }
    return mac;
  }

  /** The addresses that were asked for; null when none were. */
  static Json ipam(ConnectionSpec asked) {
    var ipam = Json.object();
    asked
        .addresses()
        .forEach(
            ip ->
                ipam.put(
                    ip instanceof Inet4Address ? "IPv4Address" : "IPv6Address", IpText.of(ip)));
    return asked.addresses().isEmpty() ? Json.Null.INSTANCE : ipam.build();
  }

  /** As inspect shows them. */
  static Json links(ConnectionSpec asked) {
    List<String> links = asked.links().stream().map(ConnectionSpec.Link::toString).toList();
    return links.isEmpty() ? Json.Null.INSTANCE : Json.of(links);
  }
}
