import type { ComponentChildren } from "preact";

/** What may be wider than the screen, and is scrolled by itself, with keys too. */
export function Scroll({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: only what has the focus can be scrolled with keys
    <section class="scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

/** Lines of a program: commands, bodies, what was answered. */
export function Lines({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: only what has the focus can be scrolled with keys
    <section class="lines" tabIndex={0} aria-label={label}>
      <pre>{text}</pre>
    </section>
  );
}
