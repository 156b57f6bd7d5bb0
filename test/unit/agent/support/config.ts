import { parseIni } from "../../../../src/config/ini-file.js";
import { type CompiledNovaConfig, compileNovaConfig } from "../../../../src/config/nova-config.js";
import type { QuirkName } from "../../../../src/config/quirks.js";
import { driverSections } from "../../../../src/virt/driver-sections.js";
import type { DriverDefinition } from "../../../../src/virt/index.js";

export interface ConfigChanges {
  /** Lines of nova.conf's `[DEFAULT]`, by option. */
  readonly defaults?: Readonly<Record<string, string | number | boolean>>;
  /** Other sections. */
  readonly sections?: Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>>;
  readonly quirks?: readonly QuirkName[];
}

/** The default configuration without periodic tasks, but for what a test changes. */
export function novaConfig(
  host: string,
  statePath: string,
  changes: ConfigChanges,
  driver: DriverDefinition,
): CompiledNovaConfig {
  const sections: Record<string, Record<string, string | number | boolean>> = {
    DEFAULT: { host, state_path: statePath, periodic_enable: false, ...changes.defaults },
    workarounds: { upstream_quirks: (changes.quirks ?? []).join(",") },
  };
  for (const [section, options] of Object.entries(changes.sections ?? {})) {
    sections[section] = { ...sections[section], ...options };
  }
  const text = Object.entries(sections)
    .map(([section, options]) => {
      const lines = Object.entries(options).map(([name, value]) => `${name} = ${value}`);
      return [`[${section}]`, ...lines].join("\n");
    })
    .join("\n");
  const sources = { files: [parseIni(`${text}\n`, "nova.conf")], environment: {}, commandLine: [] };
  return compileNovaConfig(sources, { stateDir: "/state", hostname: host }, driverSections(driver));
}
