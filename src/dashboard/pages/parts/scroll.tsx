import type { ComponentChildren } from "preact";

/** What may be wider than the screen, and is scrolled by itself, with keys too. It is no landmark: a page has many alike. */
export function Scroll({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: only what has the focus can be scrolled with keys
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields
    <div class="scroll" role="group" tabIndex={0} aria-label={label}>
      {children}
    </div>
  );
}

interface LinesProps {
  readonly label: string;
  readonly text: string;
  /** They are commands: options and paths stay whole where they fit into a line. */
  readonly unbrokenWords?: boolean;
}

/** Lines of a program: commands, bodies, what was answered. */
export function Lines({ label, text, unbrokenWords = false }: LinesProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: only what has the focus can be scrolled with keys
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields
    <div class="lines" role="group" tabIndex={0} aria-label={label}>
      <pre>
        {unbrokenWords
          ? text.split(/(\s+)/).map((word, index) =>
              index % 2 === 0 ? (
                <span key={`${index}${word}`} class="word">
                  {word}
                </span>
              ) : (
                word
              ),
            )
          : text}
      </pre>
    </div>
  );
}
