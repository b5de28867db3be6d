package dev.zlayer.cli.command;

import java.util.Optional;

/** A verb that knows options it does not have, and what to write instead. */
public interface OptionHints {
  Optional<String> advice(String typed);
}
