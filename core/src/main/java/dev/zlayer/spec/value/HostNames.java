package dev.zlayer.spec.value;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.TextForm;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;

/** Names of hosts that requests are for, in lower case; {@code *.x} is every name below x. */
@TextForm(
    is = "a host name or a list of them",
    example = "shop.example.org",
    pattern = "^(\\*|(\\*\\.)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)$",
    list = true)
public record HostNames(List<String> names) {
  /** Every host. */
  public static final String ANY = "*";

  private static final Pattern LABEL = Pattern.compile("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?");
  private static final int LONGEST = 253;

  public HostNames {
    names = List.copyOf(names);
  }

  public static HostNames parse(String text) {
    return of(List.of(text));
  }

  public static HostNames of(List<String> texts) {
    if (texts.isEmpty()) {
      throw new AgentException.InvalidSpec("the list is empty, write a host name");
    }
    return new HostNames(texts.stream().map(HostNames::name).distinct().toList());
  }

  private static String name(String text) {
    String name = text.strip().toLowerCase(Locale.ROOT);
    String plain = name.startsWith("*.") ? name.substring(2) : name;
    boolean valid =
        name.length() <= LONGEST
            && List.of(plain.split("\\.", -1)).stream()
                .allMatch(label -> LABEL.matcher(label).matches());
    if (!name.equals(ANY) && !valid) {
      throw new AgentException.InvalidSpec(
          "'%s' is not a host name, write one such as shop.example.org or *.example.org"
              .formatted(text));
    }
    return name;
  }
}
