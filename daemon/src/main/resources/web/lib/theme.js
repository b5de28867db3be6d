// Light or dark: as the browser wants it, unless a person chose one.
import { computed, signal } from "@preact/signals";

const KEY = "zlayer-theme";
const CHOICES = ["auto", "light", "dark"];

const media = matchMedia("(prefers-color-scheme: dark)");
const system = signal(media.matches);
media.addEventListener("change", () => (system.value = media.matches));

/** auto, light or dark. */
export const theme = signal(localStorage.getItem(KEY) ?? "auto");
export const dark = computed(() => (theme.value === "auto" ? system.value : theme.value === "dark"));

theme.subscribe((chosen) => {
  document.documentElement.dataset.theme = chosen;
  localStorage.setItem(KEY, chosen);
});

export function nextTheme() {
  theme.value = CHOICES[(CHOICES.indexOf(theme.value) + 1) % CHOICES.length];
}
