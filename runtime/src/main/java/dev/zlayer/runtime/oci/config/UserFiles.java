package dev.zlayer.runtime.oci.config;

import dev.zlayer.error.AgentException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.SequencedSet;
import java.util.function.Predicate;

/**
 * The texts of an image's own /etc/passwd and /etc/group, and who is who in them. A name that is
 * not in them is an error: nothing ever becomes root by accident.
 */
public record UserFiles(String passwd, String group) {
  private static final long MAX_ID = Integer.MAX_VALUE;

  private record Account(String name, long uid, long gid) {}

  private record Group(String name, long gid, List<String> members) {}

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

  private Optional<Account> account(String text) {
    Optional<Account> byName = firstAccount(account -> account.name().equals(text));
    return byName.isPresent() || !isNumber(text)
        ? byName
        : firstAccount(account -> account.uid() == number(text));
  }

  private Optional<Account> firstAccount(Predicate<Account> wanted) {
    return passwd
        .lines()
        .map(line -> line.split(":", -1))
        .filter(fields -> fields.length >= 4 && isNumber(fields[2]) && isNumber(fields[3]))
        .map(fields -> new Account(fields[0], number(fields[2]), number(fields[3])))
        .filter(wanted)
        .findFirst();
  }

  private List<Group> groups() {
    var groups = new ArrayList<Group>();
    for (String line : group.lines().toList()) {
      String[] fields = line.split(":", -1);
      if (fields.length >= 4 && isNumber(fields[2])) {
        groups.add(new Group(fields[0], number(fields[2]), List.of(fields[3].split(",", -1))));
      }
    }
    return groups;
  }

  private List<Long> groupsOf(String user) {
    return groups().stream()
        .filter(g -> g.members().contains(user))
        .map(g -> bounded("group", g.name(), g.gid()))
        .toList();
  }

  private long groupId(String text) {
    Optional<Long> known =
        groups().stream()
            .filter(candidate -> candidate.name().equals(text))
            .map(Group::gid)
            .findFirst();
    if (known.isEmpty() && !isNumber(text)) {
      throw new AgentException.InvalidSpec(
          "group '%s' is not in the image's /etc/group: use one that is, or a number"
              .formatted(text));
    }
    return bounded("group", text, known.orElseGet(() -> number(text)));
  }

  private static boolean isNumber(String text) {
    return text.matches("[0-9]{1,10}");
  }

  private static long number(String text) {
    return Long.parseLong(text);
  }

  /** Only for what is used: a line about somebody else may hold any number. */
  private static long bounded(String what, String name, long id) {
    if (id > MAX_ID) {
      throw new AgentException.InvalidSpec(
          "%s '%s' has the id %d; ids go up to %d: choose another one"
              .formatted(what, name, id, MAX_ID));
    }
    return id;
  }
}
