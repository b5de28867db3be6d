package dev.zlayer.task;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RollbackTest {
  private final List<String> undone = new ArrayList<>();

  @Test
  void undoesInReverseOrder() {
    try (var rollback = new Rollback()) {
      rollback.add("first", () -> undone.add("first"));
      rollback.add("second", () -> undone.add("second"));
    }
    assertThat(undone).containsExactly("second", "first");
  }

  @Test
  void committedWorkStays() {
    try (var rollback = new Rollback()) {
      rollback.add("first", () -> undone.add("first"));
      rollback.commit();
    }
    assertThat(undone).isEmpty();
  }

  @Test
  void everyStepIsTriedAndBothFailuresSurvive() {
    assertThatThrownBy(
            () -> {
              try (var rollback = new Rollback()) {
                rollback.add("first", () -> undone.add("first"));
                rollback.add(
                    "unmount",
                    () -> {
                      throw new IOException("busy");
                    });
                throw new IllegalArgumentException("the cause of it all");
              }
            })
        .hasMessage("the cause of it all")
        .satisfies(
            thrown ->
                assertThat(thrown.getSuppressed()[0])
                    .hasMessage("could not undo: unmount")
                    .hasRootCauseMessage("busy"));
    assertThat(undone).containsExactly("first");
  }

  @Test
  void undoingDoesNotInheritTheInterruptAndKeepsItForLater() {
    Thread.currentThread().interrupt();
    try (var rollback = new Rollback()) {
      rollback.add(
          "look", () -> undone.add(String.valueOf(Thread.currentThread().isInterrupted())));
    }
    assertThat(undone).containsExactly("false");
    assertThat(Thread.interrupted()).isTrue();
  }

  @Test
  void aStepThatIsInterruptedInItsMiddleIsRunAgain() {
    try (var rollback = new Rollback()) {
      rollback.add(
          "unmount",
          () -> {
            undone.add("begun");
            if (undone.size() == 1) {
              throw new InterruptedException();
            }
          });
    }
    assertThat(undone).containsExactly("begun", "begun");
    assertThat(Thread.interrupted()).isTrue();
  }
}
