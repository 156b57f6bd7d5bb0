import { type CompiledConfig, compileConfig } from "./compile-config.js";
import type { ConfigSources } from "./config-sources.js";
import type { Compiled, Place, SectionTable } from "./option.js";
import { DEFAULT_OPTIONS } from "./sections/default-options.js";
import { QUOTA_OPTIONS } from "./sections/quota-options.js";
import { RABBIT_OPTIONS } from "./sections/rabbit-options.js";
import {
  AGENT_OPTIONS,
  API_OPTIONS,
  COMPUTE_OPTIONS,
  CONDUCTOR_OPTIONS,
  FILTER_SCHEDULER_OPTIONS,
  GLANCE_OPTIONS,
  PLACEMENT_OPTIONS,
  SCHEDULER_OPTIONS,
  WORKAROUND_OPTIONS,
} from "./sections/service-options.js";
import { unusedOptions } from "./unused-options.js";

/** Every option that the agent and its built-in drivers know. */
export const NOVA_OPTIONS = {
  DEFAULT: DEFAULT_OPTIONS,
  compute: COMPUTE_OPTIONS,
  placement: PLACEMENT_OPTIONS,
  glance: GLANCE_OPTIONS,
  conductor: CONDUCTOR_OPTIONS,
  workarounds: WORKAROUND_OPTIONS,
  scheduler: SCHEDULER_OPTIONS,
  filter_scheduler: FILTER_SCHEDULER_OPTIONS,
  api: API_OPTIONS,
  quota: QUOTA_OPTIONS,
  oslo_messaging_rabbit: RABBIT_OPTIONS,
  compute_agent: AGENT_OPTIONS,
} as const satisfies SectionTable;

/** Typed, frozen values of nova.conf: `config.defaults.reportInterval`, `config.workarounds.upstreamQuirks`. */
export type NovaConfig = Compiled<typeof NOVA_OPTIONS>;

export type CompiledNovaConfig = CompiledConfig<typeof NOVA_OPTIONS>;

/**
 * Compiles nova.conf.
 * @param driverSections options that a driver declares; of a section that the agent has too, only new ones are taken.
 *   Read them with `section(name)`.
 * @throws {ConfigFileValueError} with all wrong values.
 */
export function compileNovaConfig(
  sources: ConfigSources,
  place: Place,
  driverSections: SectionTable = {},
): CompiledNovaConfig {
  const table: Record<string, SectionTable[string]> = { ...NOVA_OPTIONS };
  for (const [section, options] of Object.entries(driverSections)) {
    table[section] = { ...options, ...table[section] };
  }
  return withUnused(compileConfig(table as typeof NOVA_OPTIONS, sources, place));
}

function withUnused(compiled: CompiledNovaConfig): CompiledNovaConfig {
  return {
    ...compiled,
    warnings: [...compiled.warnings, ...unusedOptions(compiled.config.placement.authType, compiled.values)],
    withText: (...args) => withUnused(compiled.withText(...args)),
  };
}
