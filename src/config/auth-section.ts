import type { ConfigSources } from "./config-sources.js";
import type { SectionTable } from "./option.js";

/** What keystoneauth takes from the section that `auth_section` names; where a service is stays with the section itself. */
const AUTH: ReadonlySet<string> = new Set([
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

/** Section names are compared without case, except DEFAULT. */
export const normalizeSection = (section: string): string => (section === "DEFAULT" ? section : section.toLowerCase());

/** Where options are read that are another section's: `[placement] auth_section = keystone_authtoken`. */
export class AuthSections {
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

  /** The section in which this option stands. */
  placeOf(section: string, option: string): string {
    return AUTH.has(option) ? (this.#named.get(section) ?? section) : section;
  }

  /** Sections that are another service's: of them, nothing else is read, nor missed. */
  isForeign(section: string): boolean {
    return !Object.hasOwn(this.#table, section) && [...this.#named.values()].includes(section);
  }

  /** The tables, and each section that is named, with the options that are taken from it. */
  get tables(): SectionTable {
    const tables: Record<string, SectionTable[string]> = { ...this.#table };
    for (const [section, other] of this.#named) {
      const taken = Object.entries(this.#table[section] ?? {}).filter(([option]) => AUTH.has(option));
      tables[other] = { ...Object.fromEntries(taken), ...tables[other] };
    }
    return tables;
  }
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
