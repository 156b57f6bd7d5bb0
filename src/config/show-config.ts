import type { EffectiveValue } from "./compile-config.js";

/** One line of `--show-config`. */
export interface ConfigRow {
  readonly section: string;
  readonly option: string;
  /** As it could stand in a file; `****` for a secret that is set, empty when unset. */
  readonly value: string;
  /** `default`, `path:line`, the environment variable or the command-line option. */
  readonly origin: string;
}

/** Every option with its effective value and where that comes from. */
export function showConfig(compiled: { readonly values: readonly EffectiveValue[] }): ConfigRow[] {
  return compiled.values.map(({ section, option, definition, value, origin }) => {
    const text = definition.type.format(value);
    return { section, option, value: definition.secret && text !== "" ? "****" : text, origin };
  });
}
