import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Lines above and below the screen that are rendered as well, so that the next target of Tab exists. */
const MARGIN = 8;

interface Props<T> {
  readonly label: string;
  readonly items: readonly T[];
  /** The height of every line, in pixels. */
  readonly height: number;
  readonly keyOf: (item: T) => string;
  readonly draw: (item: T) => ComponentChildren;
}

/**
 * Follows which rows of a list are on the screen, as the page scrolls.
 * @returns a reference for the element that has the rows, and the first row and the number of rows to render
 */
export function useVisibleRows<E extends HTMLElement>(height: number, rowCount: number) {
  const body = useRef<E>(null);
  const first = useSignal(0);
  const visibleCount = useSignal(40);
  useLayoutEffect(() => {
    const update = () => {
      const top = body.current?.getBoundingClientRect().top ?? 0;
      first.value = Math.max(0, Math.floor(-top / height) - MARGIN);
      visibleCount.value = Math.ceil(innerHeight / height) + 2 * MARGIN;
    };
    update();
    addEventListener("scroll", update, { passive: true });
    addEventListener("resize", update);
    return () => {
      removeEventListener("scroll", update);
      removeEventListener("resize", update);
    };
  }, [height]);
  const from = Math.min(first.value, Math.max(0, rowCount - visibleCount.value));
  return { body, from, visibleCount: visibleCount.value };
}

/** A list that renders only its visible lines and scrolls with the page. */
export function VirtualList<T>({ label, items, height, keyOf, draw }: Props<T>) {
  const { body, from, visibleCount } = useVisibleRows<HTMLUListElement>(height, items.length);
  return (
    <ul class="virtual" aria-label={label} ref={body} style={{ height: `${items.length * height}px` }}>
      {items.slice(from, from + visibleCount).map((item, index) => (
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

interface ScrollProps {
  readonly label: string;
  /** Text that is displayed while content is hidden at the right. */
  readonly hint?: string;
  readonly children: ComponentChildren;
}

/**
 * Content that may be wider than the screen and scrolls separately, also with keys. It is not a landmark, since a page
 * has many of them.
 */
export function Scroll({ label, hint, children }: ScrollProps) {
  const box = useRef<HTMLDivElement>(null);
  const isCut = useSignal(false);
  useLayoutEffect(() => {
    const update = () => {
      const { scrollLeft = 0, clientWidth = 0, scrollWidth = 0 } = box.current ?? {};
      isCut.value = scrollLeft + clientWidth < scrollWidth - 1;
    };
    const observer = new ResizeObserver(update);
    if (hint !== undefined && box.current !== null) {
      observer.observe(box.current);
      box.current.addEventListener("scroll", update, { passive: true });
      update();
    }
    return () => observer.disconnect();
  }, [hint]);
  return (
    <div class={isCut.value ? "scroll-box scroll-cut" : "scroll-box"}>
      {isCut.value && (
        <p class="scroll-hint quiet" aria-hidden="true">
          {hint} →
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: only what has the focus can be scrolled with keys */}
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields */}
      <div class="scroll" role="group" tabIndex={0} aria-label={label} ref={box}>
        {children}
      </div>
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
