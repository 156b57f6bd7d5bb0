import { optional, type ValueType } from "./value-type.js";

/** Where an agent runs; what defaults may depend on. */
export interface Place {
  /** Absolute path of the folder given with `--state-dir`. */
  readonly stateDir: string;
  readonly hostname: string;
  /** The program that reads the options. Default: any, so that each value has to be right. */
  readonly program?: "agent";
}

/** One option: the values it takes, its default, and what it is for. */
export interface Option<T> {
  readonly type: ValueType<T>;
  readonly default: T | Derived;
  /** One or two sentences; units are named. */
  readonly help: string;
  /** Where Nova's documentation or the specification speaks of it. */
  readonly source?: string;
  /** Shown as `****`. */
  readonly secret?: boolean;
  /** The program that reads it alone. Another program takes its default for a value that it does not know. */
  readonly reader?: "control-plane";
}

/** A default that is computed: the text that could stand in the file, in which `$name` refers to other options. */
export class Derived {
  readonly text: (place: Place) => string;
  /** How documentation writes it. */
  readonly documented: string;

  constructor(documented: string, text: (place: Place) => string) {
    this.documented = documented;
    this.text = text;
  }
}

/** Options by name, as in nova.conf. */
export type OptionTable = Readonly<Record<string, Option<unknown>>>;

/** Option tables by section. */
export type SectionTable = Readonly<Record<string, OptionTable>>;

type Extras = Pick<Option<unknown>, "source" | "secret" | "reader">;

export function option<T>(
  type: ValueType<T>,
  fallback: NoInfer<T> | Derived,
  help: string,
  extras: Extras = {},
): Option<T> {
  return { type, default: fallback, help, ...extras };
}

/** An option that may be unset, which is its default: `null`. */
export function unset<T>(type: ValueType<T>, help: string, extras: Extras = {}): Option<T | null> {
  return option(optional(type), null, help, extras);
}

/** Marks all options of a section as those of the control plane. */
export function forControlPlane<T extends OptionTable>(options: T): T {
  const marked = Object.entries(options).map(([name, each]) => [name, { ...each, reader: "control-plane" }]);
  return Object.fromEntries(marked) as T;
}

/** Keeps a text from being taken for a reference to an option. */
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

/** `report_interval` → `reportInterval` */
export const camel = (name: string): string => name.replace(/_(.)/g, (_match, letter: string) => letter.toUpperCase());

/** `DEFAULT` → `defaults`, `filter_scheduler` → `filterScheduler` */
export const sectionKey = (section: string): string => (section === "DEFAULT" ? "defaults" : camel(section));
