import { effect, signal } from "@preact/signals";

const order = ["system", "light", "dark"] as const;
type Theme = (typeof order)[number];

function kept(): Theme {
  const v = localStorage.getItem("ingero-theme");
  return order.find((t) => t === v) ?? "system";
}

/** The chosen colours, kept in this browser. */
export const theme = signal<Theme>(kept());

effect(() => {
  document.documentElement.dataset.theme = theme.value;
  localStorage.setItem("ingero-theme", theme.value);
});

export function nextTheme(): void {
  theme.value = order[(order.indexOf(theme.value) + 1) % order.length]!;
}

/** The value of a CSS variable, for painting on a canvas. */
export function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Whether the page is dark now. */
export function isDark(): boolean {
  return getComputedStyle(document.documentElement).colorScheme === "dark";
}

/** Calls f when the colours change: by choice, with the system or for print. The function returned ends that. */
export function onTheme(f: () => void): () => void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const print = matchMedia("print");
  dark.addEventListener("change", f);
  print.addEventListener("change", f);
  let first = true;
  const end = effect(() => {
    void theme.value;
    if (!first) f();
    first = false;
  });
  return () => {
    dark.removeEventListener("change", f);
    print.removeEventListener("change", f);
    end();
  };
}
