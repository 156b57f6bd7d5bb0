import { normalizeSection } from "./auth-section.js";
import type { CommandLineValue, ConfigSources } from "./config-sources.js";
import { RABBIT_OPTIONS } from "./sections/rabbit-options.js";

const SECTION = "oslo_messaging_rabbit";

/** Names by which oslo.messaging has read these options once, and reads them still. */
const FORMER: Readonly<Record<string, string>> = {
  rabbit_quroum_max_memory_length: "rabbit_quorum_max_memory_length",
  rabbit_quroum_max_memory_bytes: "rabbit_quorum_max_memory_bytes",
  rabbit_use_ssl: "ssl",
  kombu_ssl_ca_certs: "ssl_ca_file",
  kombu_ssl_certfile: "ssl_cert_file",
  kombu_ssl_keyfile: "ssl_key_file",
};

/** The sources with the present names of `[oslo_messaging_rabbit]`. */
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

/** Options of that section in the query of a transport_url, which are stronger than any other source; others are not its own. */
export function optionsInQuery(transportUrl: string | null): readonly CommandLineValue[] {
  const [, query = ""] = (transportUrl ?? "").split("?");
  return [...new URLSearchParams(query)]
    .map(([option, value]) => presently({ section: SECTION, option, value, flag: "transport_url" }))
    .filter(({ option }) => Object.hasOwn(RABBIT_OPTIONS, option));
}
