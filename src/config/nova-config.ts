import { type CompiledConfig, compileConfig, type EffectiveValue } from "./compile-config.js";
import type { CommandLineValue, ConfigSources } from "./config-sources.js";
import type { Compiled, Place, SectionTable } from "./option.js";
import { AUTH_OPTIONS, type ConfigWarning, normalizeSection } from "./raw-values.js";
import { BLOCK_STORAGE_OPTIONS } from "./sections/block-storage-options.js";
import { DEFAULT_OPTIONS } from "./sections/default-options.js";
import { OVS_OPTIONS } from "./sections/ovs-options.js";
import { RABBIT_OPTIONS } from "./sections/rabbit-options.js";
import {
  AGENT_OPTIONS,
  API_OPTIONS,
  CINDER_OPTIONS,
  COMPUTE_OPTIONS,
  CONDUCTOR_OPTIONS,
  FILTER_SCHEDULER_OPTIONS,
  GLANCE_OPTIONS,
  NETWORK_OPTIONS,
  PLACEMENT_OPTIONS,
  QUOTA_OPTIONS,
  SCHEDULER_OPTIONS,
  WORKAROUND_OPTIONS,
} from "./sections/service-options.js";

/** Options of `[placement]` for access to an external Placement; they have an effect only if `auth_type` is set. */
const ACCESS: ReadonlySet<string> = new Set(
  [...AUTH_OPTIONS, "endpoint_override", "valid_interfaces", "region_name"].filter((name) => name !== "auth_type"),
);

/** All options of the agent and its built-in drivers. */
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
  network: NETWORK_OPTIONS,
  block_storage: BLOCK_STORAGE_OPTIONS,
  cinder: CINDER_OPTIONS,
  ovs: OVS_OPTIONS,
  quota: QUOTA_OPTIONS,
  oslo_messaging_rabbit: RABBIT_OPTIONS,
  compute_agent: AGENT_OPTIONS,
} as const satisfies SectionTable;

/** The typed, frozen values of nova.conf: `config.defaults.reportInterval`, `config.workarounds.upstreamQuirks`. */
export type NovaConfig = Compiled<typeof NOVA_OPTIONS>;

export type CompiledNovaConfig = CompiledConfig<typeof NOVA_OPTIONS>;

/**
 * Compiles nova.conf.
 * @param driverSections options declared by a driver. In a section that the agent also has, only new options are added.
 * Read them with `section(name)`.
 * @throws {ConfigError} with all invalid values.
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
  const compiled = compileConfig(table as typeof NOVA_OPTIONS, sources, place);
  const { authType } = compiled.config.placement;
  return { ...compiled, warnings: [...compiled.warnings, ...unusedOptions(authType, compiled.values)] };
}

/**
 * Returns warnings for options that are set but have no effect while `[placement] auth_type` is unset.
 * @param authType `[placement] auth_type`
 */
export function unusedOptions(authType: string | null, values: readonly EffectiveValue[]): ConfigWarning[] {
  if (authType !== null) {
    return [];
  }
  return values
    .filter(({ section, option, origin }) => section === "placement" && ACCESS.has(option) && origin !== "default")
    .map(({ option, origin }) => ({
      origin,
      message:
        `[placement] ${option} is ignored while auth_type is unset; set auth_type to none, admin_token or password for a ` +
        "Placement that runs elsewhere",
    }));
}

const SECTION = "oslo_messaging_rabbit";

/** Deprecated names of these options that oslo.messaging still accepts. */
const FORMER: Readonly<Record<string, string>> = {
  rabbit_quroum_max_memory_length: "rabbit_quorum_max_memory_length",
  rabbit_quroum_max_memory_bytes: "rabbit_quorum_max_memory_bytes",
  rabbit_use_ssl: "ssl",
  kombu_ssl_ca_certs: "ssl_ca_file",
  kombu_ssl_certfile: "ssl_cert_file",
  kombu_ssl_keyfile: "ssl_key_file",
};

/** Returns the sources with the current names of the `[oslo_messaging_rabbit]` options. */
export function withPresentNames(sources: ConfigSources): ConfigSources {
  const { files, commandLine } = sources;
  return {
    ...sources,
    files: files.map((file) => ({ ...file, assignments: file.assignments.map(presently) })),
    commandLine: commandLine.map(presently),
  };
}

function presently<S extends { readonly section: string; readonly option: string }>(entry: S): S {
  const option = normalizeSection(entry.section) === SECTION ? FORMER[entry.option] : undefined;
  return option === undefined ? entry : { ...entry, option };
}

/**
 * Returns the options of that section in the query of a transport_url, which take precedence over all other sources.
 * Other query parameters are ignored.
 */
export function optionsInQuery(transportUrl: string | null): readonly CommandLineValue[] {
  const [, query = ""] = (transportUrl ?? "").split("?");
  return [...new URLSearchParams(query)]
    .map(([option, value]) => presently({ section: SECTION, option, value, flag: "transport_url" }))
    .filter(({ option }) => Object.hasOwn(RABBIT_OPTIONS, option));
}
