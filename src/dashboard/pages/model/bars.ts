import type { ConsumerType, InventoryRow, ProviderRow } from "../../wire/rows.js";

export const CONSUMER_TYPES: readonly ConsumerType[] = ["server", "migration", "stale"];

export interface Bar {
  readonly resourceClass: string;
  /** Capacity as Placement computes it: (total - reserved) * allocation ratio. */
  readonly capacity: number;
  readonly used: number;
  /** Positions in percent of the bar, in drawing order. */
  readonly parts: readonly {
    readonly type: ConsumerType;
    readonly amount: number;
    readonly from: number;
    readonly width: number;
  }[];
  /** More is used than the capacity. */
  readonly over: boolean;
}

export const capacityOf = ({ total, reserved, ratio }: InventoryRow): number => Math.max(0, (total - reserved) * ratio);

/** Returns the bar of one inventory, or of the sum of several. */
export function barOf(resourceClass: string, rows: readonly InventoryRow[]): Bar {
  const capacity = rows.reduce((sum, row) => sum + capacityOf(row), 0);
  const amounts = CONSUMER_TYPES.map((type) => ({
    type,
    amount: rows.reduce((sum, { used }) => sum + (used[type] ?? 0), 0),
  }));
  const used = amounts.reduce((sum, { amount }) => sum + amount, 0);
  const total = Math.max(capacity, used);
  let from = 0;
  const parts = amounts
    .filter(({ amount }) => amount > 0)
    .map(({ type, amount }) => {
      const width = (amount / total) * 100;
      const part = { type, amount, from, width };
      from += width;
      return part;
    });
  return { resourceClass, capacity, used, parts, over: used > capacity };
}

/** Resource classes that every host has, in their usual order. */
const USUAL = ["VCPU", "PCPU", "MEMORY_MB", "DISK_GB"];
/** Bare metal has a class per kind of node; more than three are not readable at a glance. */
const MAX_UNUSUAL_CLASSES = 3;

/** Returns amounts by resource class, in the order of the bars. */
export function inOrder(
  amounts: Readonly<Record<string, number>>,
): readonly (readonly [name: string, value: number])[] {
  const place = (name: string): number => (USUAL.includes(name) ? USUAL.indexOf(name) : USUAL.length);
  return Object.entries(amounts).sort(([a], [b]) => place(a) - place(b) || a.localeCompare(b));
}

/** The column of a list for resource classes that only some providers have. */
export const OTHER_CLASSES = "other";

/** Returns the columns of a list of providers: the usual classes that occur, and one for all others if there are any. */
export function classColumns(classes: ReadonlySet<string>): readonly string[] {
  const hasOthers = [...classes].some((name) => !USUAL.includes(name));
  return [...USUAL.filter((name) => classes.has(name)), ...(hasOthers ? [OTHER_CLASSES] : [])];
}

/** Returns the bars that a list shows in a column of {@link classColumns}. */
export function barsInColumn(column: string, bars: readonly Bar[]): readonly Bar[] {
  return bars.filter(({ resourceClass }) =>
    column === OTHER_CLASSES ? !USUAL.includes(resourceClass) : resourceClass === column,
  );
}

/** Returns the used share of a bar, for sorting; null if there is none. */
export function usedShare(bar: Bar | undefined): number | null {
  return bar === undefined ? null : bar.capacity === 0 ? bar.used : bar.used / bar.capacity;
}

/** Returns the bars of a host, with the sums over all of its providers. */
export function barsOf(providers: readonly Pick<ProviderRow, "inventory">[]): Bar[] {
  const byClass = new Map<string, InventoryRow[]>();
  for (const { inventory } of providers) {
    for (const [resourceClass, row] of Object.entries(inventory)) {
      byClass.set(resourceClass, [...(byClass.get(resourceClass) ?? []), row]);
    }
  }
  const usual = USUAL.filter((name) => byClass.has(name));
  const unusual = [...byClass.keys()].filter((name) => !USUAL.includes(name)).sort();
  return [...usual, ...unusual.slice(0, usual.length === 0 ? MAX_UNUSUAL_CLASSES : 1)].map((name) =>
    barOf(name, byClass.get(name) ?? []),
  );
}
