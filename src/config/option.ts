import { optional, type ValueType } from "./value-type.js";

/** The environment of an agent, which defaults may depend on. */
export interface Place {
  /** Absolute path of the folder of `--state-dir`. */
  readonly stateDir: string;
  readonly hostname: string;
  /** The program that reads the options. Default: any program; then every value must be valid. */
  readonly program?: "agent";
}

/** An option: its type, its default and its purpose. */
export interface Option<T> {
  readonly type: ValueType<T>;
  readonly default: T | Derived;
  /** One or two sentences, with units. */
  readonly help: string;
  /** Printed as `****`. */
  readonly secret?: boolean;
  /** The only program that reads the option. Another program uses the default if it does not know the value. */
  readonly reader?: "control-plane";
}

/** A computed default: the text that a configuration file could contain, with `$name` referring to other options. */
export class Derived {
  readonly text: (place: Place) => string;
  /** The default as printed in documentation. */
  readonly documented: string;

  constructor(documented: string, text: (place: Place) => string) {
    this.documented = documented;
    this.text = text;
  }
}

/** Options by name, as in nova.conf. */
export type OptionTable = Readonly<Record<string, Option<unknown>>>;

export type SectionTable = Readonly<Record<string, OptionTable>>;

type Extras = Pick<Option<unknown>, "secret" | "reader">;

export function option<T>(
  type: ValueType<T>,
  fallback: NoInfer<T> | Derived,
  help: string,
  extras: Extras = {},
): Option<T> {
  return { type, default: fallback, help, ...extras };
}

/** Defines an option that is unset by default: `null`. */
export function unset<T>(type: ValueType<T>, help: string, extras: Extras = {}): Option<T | null> {
  return option(optional(type), null, help, extras);
}

/** Marks all options of a section as read by the control plane only. */
export function forControlPlane<T extends OptionTable>(options: T): T {
  const marked = Object.entries(options).map(([name, each]) => [name, { ...each, reader: "control-plane" }]);
  return Object.fromEntries(marked) as T;
}

/** Escapes a string so that it contains no references to options. */
export const literal = (text: string): string => text.replaceAll("$", "$$$$");

type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

type SectionName<S extends string> = S extends "DEFAULT" ? "defaults" : Camel<S>;

type CompiledSection<O extends OptionTable> = {
  readonly [N in keyof O & string as Camel<N>]: O[N] extends Option<infer T> ? T : never;
};

/** The values of a table: `config.defaults.reportInterval` for `[DEFAULT] report_interval`. */
export type Compiled<S extends SectionTable> = {
  readonly [N in keyof S & string as SectionName<N>]: CompiledSection<S[N]>;
};

/** The names that {@link camel} has converted: a pool converts those of 300 options for each of its hosts. */
const CAMEL = new Map<string, string>();

/** `report_interval` → `reportInterval` */
export function camel(name: string): string {
  let converted = CAMEL.get(name);
  if (converted === undefined) {
    converted = name.replace(/_(.)/g, (_match, letter: string) => letter.toUpperCase());
    CAMEL.set(name, converted);
  }
  return converted;
}

/** `DEFAULT` → `defaults`, `filter_scheduler` → `filterScheduler` */
export const sectionKey = (section: string): string => (section === "DEFAULT" ? "defaults" : camel(section));
