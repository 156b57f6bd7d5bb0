import { describe } from "./driver-error.js";
import { InvalidConfiguration } from "./errors.js";

interface OptionBase {
  /** One or more sentences for `--show-config` and the reference. */
  readonly help: string;
}
interface NumberOption<D extends number | null> extends OptionBase {
  readonly type: "integer" | "number";
  readonly default: D;
  readonly min?: number;
  readonly max?: number;
}
interface BooleanOption extends OptionBase {
  readonly type: "boolean";
  readonly default: boolean;
}
interface TextOption<D extends string | null> extends OptionBase {
  /** Whether the value is hidden in all output. Default false. */
  readonly secret?: boolean;
  readonly type: "text";
  readonly default: D;
  readonly choices?: readonly string[];
}
interface ListOption extends OptionBase {
  readonly type: "list";
  readonly default: readonly string[];
}
/** One option of a driver. A default of null means unset. */
export type DriverOption = NumberOption<number | null> | BooleanOption | TextOption<string | null> | ListOption;

/** The options of a driver, in its own section of nova.conf. */
export interface DriverConfigSchema {
  /** The section's name, such as `fake_libvirt`. */
  readonly section: string;
  /** Options by their names in nova.conf, in snake_case. */
  readonly options: Readonly<Record<string, DriverOption>>;
}

type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;
type Unset<O extends DriverOption> = O["default"] extends null ? null : never;
type ValueOf<O extends DriverOption> = O extends { readonly type: "integer" | "number" }
  ? number | Unset<O>
  : O extends { readonly type: "boolean" }
    ? boolean
    : O extends { readonly type: "list" }
      ? readonly string[]
      : string | Unset<O>;

/** The compiled options of a schema, with names in camelCase. */
export type DriverConfig<S extends DriverConfigSchema> = {
  readonly [K in keyof S["options"] & string as Camel<K>]: ValueOf<S["options"][K]>;
};

/**
 * Compiles the options of a driver: checks them, and sets defaults where `values` lacks an option or has null. Values may
 * already have their type, or be strings as in nova.conf.
 * @throws {InvalidConfiguration} with the section, the option, the found value and the allowed values.
 */
export function compileDriverConfig<const S extends DriverConfigSchema>(
  schema: S,
  values: Readonly<Record<string, unknown>>,
): DriverConfig<S> {
  const compiled = Object.fromEntries(
    namesOf(schema).map(([name, camel, option]) => {
      const value = values[camel] ?? values[name];
      return [
        camel,
        value === undefined || value === null ? option.default : compile(schema.section, name, option, value),
      ];
    }),
  );
  // Values that the agent has already compiled with the same schema are returned as they are, to save memory.
  return (isSame(compiled, values) ? values : Object.freeze(compiled)) as DriverConfig<S>;
}

function isSame(compiled: Readonly<Record<string, unknown>>, values: Readonly<Record<string, unknown>>): boolean {
  const names = Object.keys(compiled);
  const equal = Object.keys(values).length === names.length && names.every((name) => compiled[name] === values[name]);
  return equal && Object.isFrozen(values);
}

/** Cached, since a process compiles the options of a driver for each of its hosts. */
const NAMES = new WeakMap<DriverConfigSchema, readonly (readonly [string, string, DriverOption])[]>();

/** Returns the options with their names in nova.conf and in the compiled options. */
function namesOf(schema: DriverConfigSchema): readonly (readonly [string, string, DriverOption])[] {
  let names = NAMES.get(schema);
  if (names === undefined) {
    names = Object.entries(schema.options).map(([name, option]) => {
      const camel = name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
      return [name, camel, option] as const;
    });
    NAMES.set(schema, names);
  }
  return names;
}

function compile(section: string, name: string, option: DriverOption, value: unknown): unknown {
  const fail = (allowed: string): never => {
    throw new InvalidConfiguration(`[${section}] ${name}: found ${describe(value)}, but it must be ${allowed}`);
  };
  switch (option.type) {
    case "boolean": {
      const text = String(value).toLowerCase();
      if (["true", "1", "yes", "on"].includes(text)) {
        return true;
      }
      return ["false", "0", "no", "off"].includes(text) ? false : fail("true or false");
    }
    case "integer":
    case "number": {
      const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
      const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = option;
      const kind = option.type === "integer" ? Number.isSafeInteger(number) : Number.isFinite(number);
      if (kind && Number(number) >= min && Number(number) <= max) {
        return number;
      }
      const what = option.type === "integer" ? "a whole number" : "a number";
      const range = [
        ...(option.min === undefined ? [] : [`at least ${option.min}`]),
        ...(option.max === undefined ? [] : [`at most ${option.max}`]),
      ].join(" and ");
      return fail(range === "" ? what : `${what}, ${range}`);
    }
    case "text":
      if (typeof value !== "string") {
        return fail("a string");
      }
      if (option.choices && !option.choices.includes(value)) {
        return fail(`one of ${option.choices.join(", ")}`);
      }
      return value;
    case "list": {
      const items: unknown = typeof value === "string" ? value.split(",").map((item) => item.trim()) : value;
      if (!Array.isArray(items) || items.some((item) => typeof item !== "string")) {
        return fail("a list of strings");
      }
      return items.includes("") ? items.filter((item) => item !== "") : items;
    }
    default: {
      // The types of a driver in plain JavaScript are not checked at compile time.
      const { type } = option satisfies never as { readonly type: unknown };
      const types = "integer, number, boolean, text or list";
      throw new InvalidConfiguration(`[${section}] ${name}: its schema has type ${describe(type)}, expected ${types}`);
    }
  }
}
