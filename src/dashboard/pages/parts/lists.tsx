import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Lines above and below the screen that are drawn as well, so that the next target of Tab exists. */
const MARGIN = 8;

interface Props<T> {
  readonly label: string;
  readonly items: readonly T[];
  /** The height of every line, in pixels. */
  readonly height: number;
  readonly keyOf: (item: T) => string;
  readonly draw: (item: T) => ComponentChildren;
}

/** A list that draws only its visible lines and scrolls with the page. */
export function VirtualList<T>({ label, items, height, keyOf, draw }: Props<T>) {
  const list = useRef<HTMLUListElement>(null);
  const first = useSignal(0);
  const visibleCount = useSignal(40);
  useLayoutEffect(() => {
    const look = () => {
      const top = list.current?.getBoundingClientRect().top ?? 0;
      first.value = Math.max(0, Math.floor(-top / height) - MARGIN);
      visibleCount.value = Math.ceil(innerHeight / height) + 2 * MARGIN;
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [height]);
  const from = Math.min(first.value, Math.max(0, items.length - visibleCount.value));
  return (
    <ul class="virtual" aria-label={label} ref={list} style={{ height: `${items.length * height}px` }}>
      {items.slice(from, from + visibleCount.value).map((item, index) => (
        <li
          key={keyOf(item)}
          aria-setsize={items.length}
          aria-posinset={from + index + 1}
          style={{ top: `${(from + index) * height}px`, height: `${height}px` }}
        >
          {draw(item)}
        </li>
      ))}
    </ul>
  );
}

/**
 * Content that may be wider than the screen and scrolls separately, also with keys. It is not a landmark, since a page
 * has many of them.
 */
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
  /** The text consists of commands: options and paths are not broken if they fit into a line. */
  readonly unbrokenWords?: boolean;
}

/** Preformatted lines: commands, request and response bodies, output. */
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

interface GridColumn<T> {
  readonly title: string;
  readonly cell: (row: T) => ComponentChildren;
  readonly class?: "mono" | "number";
}

interface GridProps<T> {
  readonly label: string;
  /** The first column has the headers of the rows. */
  readonly columns: readonly GridColumn<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** Whether the row is displayed as a problem. */
  readonly isWrong?: (row: T) => boolean;
}

/** A table that scrolls separately. */
export function Grid<T>({ label, columns, rows, keyOf, isWrong }: GridProps<T>) {
  return (
    <Scroll label={label}>
      <table class="grid">
        <thead>
          <tr>
            {columns.map(({ title, class: name }) => (
              <th key={title} scope="col" class={name === "number" ? name : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} class={isWrong?.(row) === true ? "wrong" : undefined}>
              {columns.map(({ title, cell, class: name }, index) =>
                index === 0 ? (
                  <th key={title} scope="row">
                    {cell(row)}
                  </th>
                ) : (
                  <td key={title} class={name}>
                    {cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
