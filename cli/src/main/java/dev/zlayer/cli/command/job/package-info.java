/** The verbs below {@code zlayer job} and {@code zlayer cron}; one class each. */
@org.jspecify.annotations.NullMarked
package dev.zlayer.cli.command.job;
