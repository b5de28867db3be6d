package dev.zlayer.runtime.oci.config;

import dev.zlayer.error.AgentException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.SequencedSet;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * The texts of an image's own /etc/passwd and /etc/group, and who is who in them. A name that is
 * not in them is an error: nothing ever becomes root by accident.
 */
public record UserFiles(String passwd, String group) {
  private static final long MAX_ID = Integer.MAX_VALUE;
  private static final int MAX_DIGITS = 18;

  /** Those that are used, and one for the rest of the line. */
  private static final int MAX_FIELDS = 5;

  /** As many as a process can be in, less its own and those that are added. */
  private static final int MAX_GROUPS = 65_000;

  private record Account(String name, long uid, long gid) {}

  private record Group(String name, long gid, String members) {}

  /** {@code uid[:gid]} or {@code name[:group]}; empty text is root, as images mean it. */
  public User lookup(String text, List<String> extraGroups) {
    int colon = text.indexOf(':');
    String who = colon < 0 ? text : text.substring(0, colon);
    String groupText = colon < 0 ? "" : text.substring(colon + 1);
    String wanted = who.isEmpty() ? "0" : who;
    Optional<Account> account = account(wanted);
    if (account.isEmpty() && !isNumber(wanted)) {
      throw new AgentException.InvalidSpec(
          "user '%s' is not in the image's /etc/passwd: use one that is, or a number"
              .formatted(wanted));
    }
    long uid = bounded("user", wanted, account.map(Account::uid).orElseGet(() -> number(wanted)));
    long gid =
        groupText.isEmpty()
            ? bounded("the group of user", wanted, account.map(Account::gid).orElse(0L))
            : groupId(groupText);
    SequencedSet<Long> extra = new LinkedHashSet<>();
    // else a program with set-group-id drops it, and with it what is denied to this group
    extra.add(gid);
    if (groupText.isEmpty()) {
      account.ifPresent(known -> extra.addAll(groupsOf(known.name())));
    }
    extraGroups.forEach(name -> extra.add(groupId(name)));
    return new User(uid, gid, List.copyOf(extra));
  }

  /** A number is never a name: else an image could call its root 1000. */
  private Optional<Account> account(String text) {
    return isNumber(text)
        ? firstAccount(account -> account.uid() == number(text))
        : firstAccount(account -> account.name().equals(text));
  }

  private Optional<Account> firstAccount(Predicate<Account> wanted) {
    return passwd
        .lines()
        .map(line -> line.split(":", MAX_FIELDS))
        .filter(fields -> fields.length >= 4 && isNumber(fields[2]) && isNumber(fields[3]))
        .map(fields -> new Account(fields[0], number(fields[2]), number(fields[3])))
        .filter(wanted)
        .findFirst();
  }

  private Stream<Group> groups() {
    return group
        .lines()
        .map(line -> line.split(":", MAX_FIELDS))
        .filter(fields -> fields.length >= 4 && isNumber(fields[2]))
        .map(fields -> new Group(fields[0], number(fields[2]), fields[3]));
  }

  private List<Long> groupsOf(String user) {
    List<Long> found =
        groups()
            .filter(g -> listed(user, g.members()))
            .map(g -> bounded("group", g.name(), g.gid()))
            .limit(MAX_GROUPS + 1)
            .toList();
    if (found.size() > MAX_GROUPS) {
      throw new AgentException.InvalidSpec(
          "user '%s' is in more than %d groups of the image's /etc/group, which no process can be"
              .formatted(user, MAX_GROUPS));
    }
    return found;
  }

  /** Without a list of all the names, of which there may be millions. */
  private static boolean listed(String user, String names) {
    for (int at = user.isEmpty() ? -1 : names.indexOf(user);
        at >= 0;
        at = names.indexOf(user, at + 1)) {
      int end = at + user.length();
      if ((at == 0 || names.charAt(at - 1) == ',')
          && (end == names.length() || names.charAt(end) == ',')) {
        return true;
      }
    }
    return false;
  }

  private long groupId(String text) {
    if (isNumber(text)) {
      return bounded("group", text, number(text));
    }
    return groups()
        .filter(candidate -> candidate.name().equals(text))
        .map(known -> bounded("group", text, known.gid()))
        .findFirst()
        .orElseThrow(
            () ->
                new AgentException.InvalidSpec(
                    "group '%s' is not in the image's /etc/group: use one that is, or a number"
                        .formatted(text)));
  }

  private static boolean isNumber(String text) {
    return !text.isEmpty() && text.chars().allMatch(c -> c >= '0' && c <= '9');
  }

  /** What is beyond all ids stays beyond them. */
  private static long number(String text) {
    String digits = text.replaceFirst("^0+(?=.)", "");
    return digits.length() > MAX_DIGITS ? Long.MAX_VALUE : Long.parseLong(digits);
  }

  /** Only for what is used: a line about somebody else may hold any number. */
  private static long bounded(String what, String name, long id) {
    if (id > MAX_ID) {
      throw new AgentException.InvalidSpec(
          "%s '%s' has the id %s; ids go up to %d: choose another one"
              .formatted(what, name, id == Long.MAX_VALUE ? name : Long.toString(id), MAX_ID));
    }
    return id;
  }
}
