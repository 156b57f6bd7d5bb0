import type { ExtraDhcpOption } from "../resources/ports.js";

const DEFAULT_VERSION = 4;

/** Returns the options of a new port; those without a value are left out. */
export function completeOptions(options: readonly ExtraDhcpOption[] | null | undefined): readonly ExtraDhcpOption[] {
  return mergeOptions([], options);
}

/** Adds options to those of a port, or replaces them; an option with the value null is removed. */
export function mergeOptions(
  current: readonly ExtraDhcpOption[],
  changes: readonly ExtraDhcpOption[] | null | undefined,
): readonly ExtraDhcpOption[] {
  const merged = new Map(current.map((option) => [keyOf(option), option]));
  for (const { opt_name: name, opt_value: value, ip_version: version = DEFAULT_VERSION } of changes ?? []) {
    const option = { opt_name: name, opt_value: value, ip_version: version };
    if (value === null) {
      merged.delete(keyOf(option));
    } else {
      merged.set(keyOf(option), option);
    }
  }
  return [...merged.values()];
}

const keyOf = ({ opt_name: name, ip_version: version }: ExtraDhcpOption): string => `${version} ${name}`;
