import type { NovaConfig } from "../../config/nova-config.js";
import type { Files } from "../../runtime/files.js";
import type { NodeRuntimeOptions } from "../../runtime/node/node-runtime.js";
import type { HttpTls } from "../../runtime/node/undici-http-client.js";
import { certificatesIn, TlsUnusable } from "../cluster/tls/tls-files.js";
import type { LoadedConfig } from "./load-config.js";

/** A section of nova.conf as far as it secures HTTPS. */
interface TlsOptions {
  readonly cafile?: unknown;
  readonly certfile?: unknown;
  readonly keyfile?: unknown;
  readonly insecure?: unknown;
}

/**
 * The agent's TLS. `[placement]` secures all requests but those of other sections that set options of their own (`[glance]`, the
 * driver's) and those to the control plane, which `[conductor]` secures.
 * @param driver its section and the options there, by camelCase name
 * @throws {FileFailure} @throws {TlsUnusable}
 */
export async function agentTls(
  config: NovaConfig,
  files: Files,
  driver?: { readonly section: string; readonly options: TlsOptions },
): Promise<Pick<NodeRuntimeOptions, "tls" | "trusted" | "tlsSections">> {
  const { url, cafile, ca: text } = config.conductor;
  const tls = await sectionTls(config.placement, files);
  const tlsSections = new Map<string, HttpTls>();
  for (const [section, options] of [
    ["glance", config.glance],
    ...(driver ? [[driver.section, driver.options]] : []),
  ] as [string, TlsOptions][]) {
    if (options.insecure === true || isText(options.cafile) || isText(options.certfile)) {
      tlsSections.set(section, await sectionTls(options, files));
    }
  }
  const sections = tlsSections.size === 0 ? {} : { tlsSections };
  const ca = cafile === null ? text : await files.read(cafile);
  if (url === null || ca === null) {
    return { tls, ...sections };
  }
  assertCertificate(ca, cafile === null ? "[conductor] ca" : `${cafile} ([conductor] cafile)`);
  const { origin } = new URL(url.replace(/^ws/, "http"));
  return { tls, ...sections, trusted: new Map([[origin, { verify: true, ca }]]) };
}

/** The section of a host's driver, for {@link agentTls}. */
export function tlsOptionsOf({ driver, driverConfig }: Pick<LoadedConfig, "driver" | "driverConfig">) {
  return { section: driver.configSchema?.section ?? driver.name, options: driverConfig };
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/** @throws {TlsUnusable} it is no certificate. */
function assertCertificate(ca: string, place: string): void {
  const wrong = new TlsUnusable(
    `${place} has no certificate that can be read; expected that of the control plane's authority in PEM, as compute-cluster join writes it`,
  );
  try {
    if (certificatesIn(ca).length > 0) {
      return;
    }
  } catch {
    throw wrong;
  }
  throw wrong;
}

async function sectionTls({ cafile, certfile, keyfile, insecure }: TlsOptions, files: Files): Promise<HttpTls> {
  const read = async (path: unknown) => (isText(path) ? await files.read(path) : undefined);
  const [ca, cert, key] = await Promise.all([cafile, certfile, keyfile].map(read));
  return {
    verify: insecure !== true,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    // keystoneauth, too, looks for the key in the certificate's file.
    ...(key === undefined && cert === undefined ? {} : { key: key ?? cert ?? "" }),
  };
}
