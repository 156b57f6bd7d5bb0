import type { ComponentChildren } from "preact";
import { useDashboard } from "../live.js";
import { nextSorting, type Sorting } from "../model/sorting.js";
import { useVisibleRows } from "./lists.js";
import { setFilter } from "./navigation.js";

export interface ListColumn<T> {
  /** The column in the address of a sorted list. */
  readonly name: string;
  readonly title: string;
  readonly tooltip: string;
  /** Content of the cell; null if the row has none. */
  readonly cell: (row: T) => ComponentChildren;
  readonly class?: string;
  /** Sorts by figures, the largest first. */
  readonly numeric?: boolean;
}

interface SortableListProps<T> {
  readonly label: string;
  /** The first column has the headers of the rows. */
  readonly columns: readonly ListColumn<T>[];
  /** Sorted rows. */
  readonly items: readonly T[];
  readonly sorting: Sorting;
  /** The height of every row, in pixels. */
  readonly height: number;
  readonly keyOf: (item: T) => string;
  /** The class of a row, which lays out its cells. */
  readonly rowClass: string;
  readonly isWrong: (item: T) => boolean;
}

/**
 * A table with column heads that sort it. It renders only its visible rows and scrolls with the page. On narrow screens,
 * where a row has several lines, a list of columns replaces the heads.
 */
export function SortableList<T>(props: SortableListProps<T>) {
  const { label, columns, items, sorting, height, keyOf, rowClass, isWrong } = props;
  const { narrow } = useDashboard();
  const { body, from, visibleCount } = useVisibleRows<HTMLDivElement>(height, items.length);
  return (
    <>
      {narrow.value && <SortField columns={columns} sorting={sorting} />}
      {/* biome-ignore lint/a11y/useSemanticElements: rows of a table cannot be positioned */}
      <div class="list" role="table" aria-label={label} aria-rowcount={items.length + 1}>
        {/* biome-ignore lint/a11y/useSemanticElements: see above */}
        <div role="rowgroup" class={narrow.value ? "hidden" : "list-head"}>
          {/* biome-ignore lint/a11y/useSemanticElements: see above */}
          {/* biome-ignore lint/a11y/useFocusableInteractive: rows of a static table have no focus */}
          <div role="row" class={`line ${rowClass}`} aria-rowindex={1}>
            {columns.map((column) => (
              <ColumnHead key={column.name} column={column} sorting={sorting} isPlain={narrow.value} />
            ))}
          </div>
        </div>
        {/* biome-ignore lint/a11y/useSemanticElements: see above */}
        <div role="rowgroup" class="virtual" ref={body} style={{ height: `${items.length * height}px` }}>
          {items.slice(from, from + visibleCount).map((item, index) => (
            // biome-ignore lint/a11y/useSemanticElements: see above
            // biome-ignore lint/a11y/useFocusableInteractive: see above
            <div
              key={keyOf(item)}
              role="row"
              class={`line ${rowClass}${isWrong(item) ? " line-wrong" : ""}`}
              aria-rowindex={from + index + 2}
              style={{ top: `${(from + index) * height}px`, height: `${height}px` }}
            >
              {columns.map(({ name, cell, class: cellClass }, column) => (
                <div key={name} role={column === 0 ? "rowheader" : "cell"} class={cellClass}>
                  {cell(item)}
                </div>
              ))}
            </div>
          ))}
        </div>
      </div>
    </>
  );
}

interface HeadProps<T> {
  readonly column: ListColumn<T>;
  readonly sorting: Sorting;
  readonly isPlain: boolean;
}

function ColumnHead<T>({ column, sorting, isPlain }: HeadProps<T>) {
  const { name, title, tooltip, class: cellClass, numeric = false } = column;
  const isSorted = sorting.column === name;
  const order = sorting.descending ? "descending" : "ascending";
  return (
    // biome-ignore lint/a11y/useSemanticElements: see above
    // biome-ignore lint/a11y/useFocusableInteractive: its button has the focus
    <div role="columnheader" class={cellClass} aria-sort={isSorted ? order : "none"} title={tooltip}>
      {isPlain ? (
        title
      ) : (
        <button
          type="button"
          class="column-head"
          onClick={() => setFilter({ sort: nextSorting(sorting, name, numeric) })}
        >
          {title}
          <span aria-hidden="true">{isSorted ? (sorting.descending ? " ▼" : " ▲") : ""}</span>
        </button>
      )}
    </div>
  );
}

/** The columns as a choice, and the direction. */
function SortField<T>({ columns, sorting }: { readonly columns: readonly ListColumn<T>[]; readonly sorting: Sorting }) {
  return (
    <div class="sort-field">
      <label>
        Sort by{" "}
        <select
          value={sorting.column}
          onChange={({ currentTarget: { value } }) => {
            const numeric = columns.find(({ name }) => name === value)?.numeric === true;
            setFilter({ sort: numeric ? `-${value}` : value });
          }}
        >
          {columns.map(({ name, title }) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        aria-label={sorting.descending ? "Descending order" : "Ascending order"}
        onClick={() => setFilter({ sort: sorting.descending ? sorting.column : `-${sorting.column}` })}
      >
        {sorting.descending ? "▼" : "▲"}
      </button>
    </div>
  );
}
