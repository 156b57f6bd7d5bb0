import { ConfigError, type ConfigSources, invalidValues, type ValueProblem } from "./config-sources.js";
import {
  type Compiled,
  camel,
  Derived,
  type Option,
  type OptionTable,
  type Place,
  type SectionTable,
  sectionKey,
} from "./option.js";
import { type ConfigWarning, RawValues } from "./raw-values.js";

/** Matches `$$`, `$name`, `${name}`; a name may be `group.name`. Any other `$` is literal. */
const REFERENCE = /\$(?:(\$)|([_a-z][._a-z0-9]*)|\{([_a-z][._a-z0-9]*)\})/gi;

/** The effective value of one option. */
export interface EffectiveValue {
  readonly section: string;
  readonly option: string;
  readonly definition: Option<unknown>;
  readonly value: unknown;
  /** `default`, `path:line`, or the name of the environment variable or command-line option. */
  readonly origin: string;
}

export interface CompiledConfig<S extends SectionTable> {
  /** Frozen. */
  readonly config: Compiled<S>;
  /** All options in the order of the table. */
  readonly values: readonly EffectiveValue[];
  /** Warnings about unknown names in the sources. */
  readonly warnings: readonly ConfigWarning[];
  /** Returns the options of a section by camelCase name; empty if no table has the section. */
  section(name: string): Readonly<Record<string, unknown>>;
  /**
   * Returns the configuration with one option overridden. Only options that refer to it are recompiled; sections
   * without such options remain the same objects. For a process whose hosts have almost the same options.
   * @throws {ConfigError} with all invalid values.
   */
  withText(section: string, option: string, text: string): CompiledConfig<S>;
}

const DEFAULT_ORIGIN = "default";

/**
 * Compiles raw strings to typed values.
 * @throws {ConfigError} with all invalid values.
 */
export function compileConfig<S extends SectionTable>(
  table: S,
  sources: ConfigSources,
  place: Place,
): CompiledConfig<S> {
  const compiler = new Compiler(table, new RawValues(table, sources), place);
  return compiler.compile() as CompiledConfig<S>;
}

/** Cached, since an agent process compiles the same tables for each of its hosts. */
const KEYS = new WeakMap<OptionTable, ReadonlyMap<string, string>>();

/** Returns the options of a table with their keys in the configuration. */
function keysOf(options: OptionTable): ReadonlyMap<string, string> {
  let keys = KEYS.get(options);
  if (keys === undefined) {
    keys = new Map(Object.keys(options).map((name) => [name, camel(name)]));
    KEYS.set(options, keys);
  }
  return keys;
}

type Raw = Pick<RawValues, "get" | "warnings">;

/** The results of another compilation, which are reused for unchanged options. */
interface Known {
  readonly compiler: Compiler;
  readonly result: CompiledConfig<SectionTable>;
  readonly changed: ReadonlySet<string>;
}

class Compiler {
  readonly #table: SectionTable;
  readonly #raw: Raw;
  readonly #place: Place;
  readonly #known: Known | null;
  readonly #done = new Map<string, EffectiveValue>();
  /** For each option, the options that refer to it. */
  readonly #references: Map<string, Set<string>>;
  /** The index of each option in the list of all values. */
  readonly #positions: Map<string, number>;
  readonly #open = new Set<string>();
  readonly #problems: ValueProblem[] = [];

  constructor(table: SectionTable, raw: Raw, place: Place, known: Known | null = null) {
    this.#table = table;
    this.#raw = raw;
    this.#place = place;
    this.#known = known;
    this.#references = known === null ? new Map() : known.compiler.#references;
    this.#positions = known === null ? new Map() : known.compiler.#positions;
  }

  compile(): CompiledConfig<SectionTable> {
    const values: EffectiveValue[] = [];
    const sections: Record<string, Readonly<Record<string, unknown>>> = {};
    for (const [section, options] of Object.entries(this.#table)) {
      const compiled: Record<string, unknown> = {};
      for (const [option, key] of keysOf(options)) {
        const effective = this.#resolve(section, option);
        this.#positions.set(keyOf(section, option), values.length);
        values.push(effective);
        compiled[key] = effective.value;
      }
      // Copied, because V8 stores objects filled with computed keys as dictionaries, which are three times as large and
      // slower to read.
      sections[sectionKey(section)] = Object.freeze({ ...compiled });
    }
    return this.#result(sections, values);
  }

  /** Compiles the changed options only and reuses all others. */
  #compileChanged({ result, changed }: Known): CompiledConfig<SectionTable> {
    const values = [...result.values];
    const sections: Record<string, Readonly<Record<string, unknown>>> = { ...result.config };
    const edited = new Map<string, Record<string, unknown>>();
    const positions = [...changed].flatMap((key) => this.#positions.get(key) ?? []);
    for (const position of positions.sort((a, b) => a - b)) {
      const { section = "", option = "" } = values[position] ?? {};
      const effective = this.#resolve(section, option);
      values[position] = effective;
      const key = sectionKey(section);
      const options = edited.get(key) ?? { ...sections[key] };
      options[camel(option)] = effective.value;
      edited.set(key, options);
    }
    for (const [key, options] of edited) {
      sections[key] = Object.freeze(options);
    }
    return this.#result(sections, values);
  }

  #result(
    sections: Record<string, Readonly<Record<string, unknown>>>,
    values: readonly EffectiveValue[],
  ): CompiledConfig<SectionTable> {
    if (this.#problems.length > 0) {
      const numeric = new Intl.Collator("en", { numeric: true });
      throw invalidValues(this.#problems.sort((a, b) => numeric.compare(a.origin, b.origin)));
    }
    const result: CompiledConfig<SectionTable> = {
      config: Object.freeze(sections),
      values,
      warnings: this.#raw.warnings,
      section: (name) => sections[sectionKey(name)] ?? Object.freeze({}),
      withText: (section, option, text) => this.#with(result, section, option, text),
    };
    return result;
  }

  #with(
    result: CompiledConfig<SectionTable>,
    section: string,
    option: string,
    text: string,
  ): CompiledConfig<SectionTable> {
    const changed = new Set([keyOf(section, option)]);
    for (const key of changed) {
      for (const dependent of this.#references.get(key) ?? []) {
        changed.add(dependent);
      }
    }
    const raw: Raw = {
      warnings: this.#raw.warnings,
      get: (ofSection, ofOption) => {
        const rawValue = this.#raw.get(ofSection, ofOption);
        return ofSection === section && ofOption === option
          ? { values: [text], origin: rawValue?.origin ?? DEFAULT_ORIGIN }
          : rawValue;
      },
    };
    const known = { compiler: this, result, changed };
    return new Compiler(this.#table, raw, this.#place, known).#compileChanged(known);
  }

  #found(key: string): EffectiveValue | undefined {
    const known = this.#known;
    return this.#done.get(key) ?? (known?.changed.has(key) === false ? known.compiler.#found(key) : undefined);
  }

  #resolve(section: string, option: string): EffectiveValue {
    const key = keyOf(section, option);
    for (const referring of this.#open) {
      this.#references.set(key, (this.#references.get(key) ?? new Set()).add(referring));
    }
    const known = this.#found(key);
    if (known) {
      return known;
    }
    const definition = this.#definition(section, option);
    if (!definition) {
      throw unknownReference(`there is no option ${option} in section [${section}]`);
    }
    if (this.#open.has(key)) {
      throw unknownReference(`[${section}] ${option} refers to itself`);
    }
    this.#open.add(key);
    const effective = this.#evaluate(section, option, definition);
    this.#open.delete(key);
    this.#done.set(key, effective);
    return effective;
  }

  #evaluate(section: string, option: string, definition: Option<unknown>): EffectiveValue {
    const { type, default: fallback } = definition;
    const raw = this.#raw.get(section, option);
    const origin = raw?.origin ?? DEFAULT_ORIGIN;
    if (!raw && !(fallback instanceof Derived)) {
      return { section, option, definition, value: fallback, origin };
    }
    const rawStrings = raw?.values ?? (fallback instanceof Derived ? [fallback.text(this.#place)] : []);
    const effective = type.repeated ? rawStrings : rawStrings.slice(-1);
    try {
      const substituted = effective.map((text) => substitute(text, (name) => this.#refer(name, section)));
      const value = type.parse(substituted);
      if (value !== undefined) {
        return { section, option, definition, value, origin };
      }
      if (definition.reader === "control-plane" && this.#place.program === "agent" && !(fallback instanceof Derived)) {
        return { section, option, definition, value: fallback, origin: DEFAULT_ORIGIN };
      }
      this.#problem(section, option, definition, origin, substituted, `expected ${type.expected}`);
    } catch (error) {
      if (!(error instanceof ConfigError && error.code === "UnknownReference")) {
        throw error;
      }
      this.#problem(section, option, definition, origin, effective, error.message);
    }
    return { section, option, definition, value: undefined, origin };
  }

  /** Returns the text for `$name` in an option of `section`: from the same section first, then from DEFAULT. */
  #refer(name: string, section: string): string {
    const dot = name.indexOf(".");
    if (dot > 0) {
      const [group, option] = [name.slice(0, dot), name.slice(dot + 1)];
      if (group === "DEFAULT") {
        throw unknownReference(`options of [DEFAULT] are referred to without their section, as $${option}`);
      }
      return this.#textOf(group, option);
    }
    return this.#textOf(this.#definition(section, name) ? section : "DEFAULT", name);
  }

  #textOf(section: string, option: string): string {
    const { value, definition } = this.#resolve(section, option);
    if (value === undefined) {
      throw unknownReference(`[${section}] ${option}, which it refers to, has a wrong value`);
    }
    return definition.type.format(value);
  }

  #definition(section: string, option: string): Option<unknown> | undefined {
    const options = Object.hasOwn(this.#table, section) ? this.#table[section] : undefined;
    return options && Object.hasOwn(options, option) ? options[option] : undefined;
  }

  #problem(
    section: string,
    option: string,
    definition: Option<unknown>,
    origin: string,
    values: readonly string[],
    reason: string,
  ): void {
    if (origin === DEFAULT_ORIGIN) {
      // A default can only be invalid because of an option that it refers to, and that one is reported itself.
      return;
    }
    const found = definition.secret ? "****" : values.map((text) => JSON.stringify(text)).join(", ");
    this.#problems.push({ origin, section, option, found, reason });
  }
}

function unknownReference(message: string): ConfigError {
  return new ConfigError("UnknownReference", message);
}

function keyOf(section: string, option: string): string {
  return `${section}/${option}`;
}

/**
 * Replaces references by the values of other options.
 * @param lookUp returns the text for a name; throws {@link ConfigError} for an unknown one.
 */
function substitute(text: string, lookUp: (name: string) => string): string {
  // oslo.config treats a backslash before a dollar sign like a second dollar sign.
  return text
    .replaceAll("\\$", "$$$$")
    .replace(REFERENCE, (_match, escaped: string | undefined, plain: string | undefined, braced: string | undefined) =>
      escaped === undefined ? lookUp(plain ?? braced ?? "") : "$",
    );
}

/** A line of `--show-config`. */
export interface ConfigRow {
  readonly section: string;
  readonly option: string;
  /** In the syntax of a configuration file; `****` for a secret, empty if unset. */
  readonly value: string;
  /** `default`, `path:line`, or the name of the environment variable or command-line option. */
  readonly origin: string;
}

/** Lists all options with their effective values and origins. */
export function showConfig(compiled: { readonly values: readonly EffectiveValue[] }): ConfigRow[] {
  return compiled.values.map(({ section, option, definition, value, origin }) => {
    const text = definition.type.format(value);
    return { section, option, value: definition.secret && text !== "" ? "****" : text, origin };
  });
}
