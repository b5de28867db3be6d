package dev.zlayer.cli.dashboard;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.options.AriaRole;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A page that is logged in, as a person uses it. Closing checks that no script failed. */
final class DashboardPage implements AutoCloseable {
  private final Page page;
  private final List<String> mistakes = new CopyOnWriteArrayList<>();

  DashboardPage(Page page) {
    this.page = page;
    page.onConsoleMessage(
        message -> {
          if (message.text().contains("Content Security Policy")) {
            mistakes.add(message.text());
          }
        });
    page.onPageError(mistakes::add);
  }

  Page page() {
    return page;
  }

  void view(String path) {
    page.evaluate("path => { location.hash = path }", "#/" + path);
  }

  Locator button(String name) {
    return page.getByRole(
        AriaRole.BUTTON, new Page.GetByRoleOptions().setName(name).setExact(true));
  }

  void follow(String link) {
    page.getByRole(AriaRole.LINK, new Page.GetByRoleOptions().setName(link).setExact(true)).click();
  }

  /** Presses a button, reads the command that does the same, and confirms. */
  void act(String label, String command) {
    button(label).first().click();
    Locator dialog = page.locator("dialog");
    assertThat(dialog.locator(".command")).hasText(command);
    dialog.locator("button[type=submit]").click();
    assertThat(page.locator(".toast")).containsText(label + ": done");
    assertThat(page.locator(".toast code")).hasText(command);
  }

  @Override
  public void close() {
    assertThat(page.evaluate("window.pwned === undefined")).isEqualTo(true);
    page.context().close();
    assertThat(mistakes).isEmpty();
  }
}
