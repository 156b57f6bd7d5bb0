import { didYouMean } from "../runtime/error-messages.js";
import type { ConfigSources } from "./config-sources.js";
import type { OptionTable, SectionTable } from "./option.js";

/**
 * The options that keystoneauth reads from the section in `auth_section`. A service's endpoint options remain in its
 * own section.
 */
export const AUTH_OPTIONS: ReadonlySet<string> = new Set([
  "auth_type",
  "auth_url",
  "username",
  "user_id",
  "password",
  "application_credential_id",
  "application_credential_name",
  "application_credential_secret",
  "token",
  "endpoint",
  "project_name",
  "project_id",
  "system_scope",
  "user_domain_name",
  "user_domain_id",
  "project_domain_name",
  "project_domain_id",
  "default_domain_id",
  "default_domain_name",
]);

const AUTH_SECTION = "auth_section";

/** Normalizes a section name: names are case-insensitive, except DEFAULT. */
export const normalizeSection = (section: string): string => (section === "DEFAULT" ? section : section.toLowerCase());

/** Resolves options that are read from another section: `[placement] auth_section = keystone_authtoken`. */
class AuthSections {
  readonly #table: SectionTable;
  readonly #named: ReadonlyMap<string, string>;

  constructor(table: SectionTable, sources: ConfigSources) {
    this.#table = table;
    const named = new Map<string, string>();
    for (const [section, options] of Object.entries(table)) {
      const other = Object.hasOwn(options, AUTH_SECTION) ? lastText(sources, section) : undefined;
      if (other !== undefined && other !== "") {
        named.set(section, normalizeSection(other));
      }
    }
    this.#named = named;
  }

  /** Returns the section that contains this option. */
  placeOf(section: string, option: string): string {
    return AUTH_OPTIONS.has(option) ? (this.#named.get(section) ?? section) : section;
  }

  /** Returns whether a section belongs to another service. Its other options are neither read nor reported. */
  isForeign(section: string): boolean {
    return !Object.hasOwn(this.#table, section) && [...this.#named.values()].includes(section);
  }

  /** The tables, and each referenced section with the options that are read from it. */
  get tables(): SectionTable {
    const tables: Record<string, SectionTable[string]> = { ...this.#table };
    for (const [section, other] of this.#named) {
      const taken = Object.entries(this.#table[section] ?? {}).filter(([option]) => AUTH_OPTIONS.has(option));
      tables[other] = { ...Object.fromEntries(taken), ...tables[other] };
    }
    return tables;
  }
}

/** The raw strings of an option. */
export interface RawValue {
  /** All values of a repeated option, in order; for other options the last one counts. */
  readonly values: readonly string[];
  /** `path:line`, or the name of the environment variable or command-line option of the last value. */
  readonly origin: string;
}

export interface ConfigWarning {
  /** `path:line`, or the name of the environment variable or command-line option. */
  readonly origin: string;
  readonly message: string;
  /** The name, if no table has it or a similar one: `[vnc]`, `[DEFAULT] debug`. */
  readonly unknown?: string;
}

/** A name in a source that no table has, with candidates for a suggestion. */
interface UnknownName {
  readonly origin: string;
  readonly what: string;
  readonly name: string;
  readonly label: string;
  readonly known: readonly string[];
  readonly brackets: string;
}

/** Collects the values of all sources by option; unknown names become warnings. */
export class RawValues {
  readonly #table: ReadonlyMap<string, OptionTable>;
  readonly #authSections: AuthSections;
  readonly #values = new Map<string, RawValue>();
  readonly #unknownNames: UnknownName[] = [];

  constructor(table: SectionTable, sources: ConfigSources) {
    this.#authSections = new AuthSections(table, sources);
    this.#table = new Map(Object.entries(this.#authSections.tables));
    this.#takeFiles(sources);
    this.#takeEnvironment(sources.environment);
    this.#takeCommandLine(sources.commandLine);
  }

  #takeCommandLine(commandLine: ConfigSources["commandLine"]): void {
    const commandLineKeys = new Set<string>();
    for (const { section, option, value, flag } of commandLine) {
      const name = normalizeSection(section);
      if (!this.#isKnown(name, option, flag)) {
        continue;
      }
      const key = keyOf(name, option);
      const earlier = commandLineKeys.has(key) ? (this.#values.get(key)?.values ?? []) : [];
      commandLineKeys.add(key);
      this.#values.set(key, { values: [...earlier, value], origin: flag });
    }
  }

  /** Computed lazily, because finding similar names is slow. */
  get warnings(): readonly ConfigWarning[] {
    return this.#unknownNames.map(({ origin, what, name, label, known, brackets: [open = "", close = ""] }) => {
      const suggestion = didYouMean(name, known);
      return suggestion === undefined
        ? { origin, message: `${what} is ignored`, unknown: label }
        : { origin, message: `${what} is ignored; did you mean ${open}${suggestion}${close}?` };
    });
  }

  get(section: string, option: string): RawValue | undefined {
    return this.#values.get(keyOf(this.#authSections.placeOf(section, option), option));
  }

  #takeFiles({ files }: ConfigSources): void {
    for (const file of files) {
      for (const { section, path, line } of file.sections) {
        if (!this.#table.has(normalizeSection(section))) {
          this.#warnOfSection(section, `${path}:${line}`);
        }
      }
      for (const { section, option, value, path, line } of file.assignments) {
        this.#takeAssignment(section, option, value, `${path}:${line}`);
      }
    }
  }

  #takeAssignment(section: string, option: string, value: string, origin: string): void {
    const name = normalizeSection(section);
    // An unknown section was already reported with its header.
    if (!this.#table.has(name) || !this.#isKnown(name, option, origin)) {
      return;
    }
    const key = keyOf(name, option);
    this.#values.set(key, { values: [...(this.#values.get(key)?.values ?? []), value], origin });
  }

  #takeEnvironment(environment: Readonly<Record<string, string | undefined>>): void {
    if (Object.keys(environment).every((name) => !name.startsWith("OS_"))) {
      return;
    }
    const known = new Map<string, string>();
    for (const [section, options] of this.#table) {
      for (const option of Object.keys(options)) {
        known.set(`OS_${section.toUpperCase()}__${option.toUpperCase()}`, keyOf(section, option));
      }
    }
    const own = [...this.#table.keys()].filter((section) => !this.#authSections.isForeign(section));
    const sections = own.map((section) => `OS_${section.toUpperCase()}__`);
    for (const [name, value] of Object.entries(environment)) {
      const key = known.get(name);
      if (value === undefined) {
        continue;
      }
      if (key !== undefined) {
        this.#values.set(key, { values: [value], origin: name });
      } else if (sections.some((prefix) => name.startsWith(prefix))) {
        const what = "unknown option in the environment";
        this.#unknownNames.push({ origin: name, what, name, label: name, known: [...known.keys()], brackets: "" });
      }
    }
  }

  /** Returns false, with a warning, if no table has the option. */
  #isKnown(section: string, option: string, origin: string): boolean {
    const options = this.#table.get(section);
    if (options === undefined) {
      this.#warnOfSection(section, origin);
      return false;
    }
    const isKnown = Object.hasOwn(options, option);
    if (!isKnown && !this.#authSections.isForeign(section)) {
      const what = `unknown option ${option} in section [${section}]`;
      const label = `[${section}] ${option}`;
      this.#unknownNames.push({ origin, what, name: option, label, known: Object.keys(options), brackets: "" });
    }
    return isKnown;
  }

  #warnOfSection(section: string, origin: string): void {
    const what = `unknown section [${section}]`;
    const label = `[${section}]`;
    this.#unknownNames.push({ origin, what, name: section, label, known: [...this.#table.keys()], brackets: "[]" });
  }
}

function keyOf(section: string, option: string): string {
  return `${section}/${option}`;
}

function lastText({ files, environment, commandLine }: ConfigSources, section: string): string | undefined {
  const stands = (entry: { readonly section: string; readonly option: string }) =>
    entry.option === AUTH_SECTION && normalizeSection(entry.section) === section;
  return (
    commandLine.findLast(stands)?.value ??
    environment[`OS_${section.toUpperCase()}__${AUTH_SECTION.toUpperCase()}`] ??
    files.flatMap(({ assignments }) => assignments).findLast(stands)?.value
  );
}
