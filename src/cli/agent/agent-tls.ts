import type { NovaConfig } from "../../config/nova-config.js";
import type { Files } from "../../runtime/files.js";
import type { NodeRuntimeOptions } from "../../runtime/node/node-runtime.js";
import type { HttpTls } from "../../runtime/node/undici-http-client.js";
import { certificatesIn } from "../cluster/tls/certificate.js";
import { TlsUnusable } from "../cluster/tls/tls-files.js";

/**
 * How the agent's TLS is secured: by the files that `[placement]` names, but for the control plane, which embeds a Placement, too, by
 * the authority that `[conductor]` names.
 * @throws {FileFailure} @throws {TlsUnusable}
 */
export async function agentTls(config: NovaConfig, files: Files): Promise<Pick<NodeRuntimeOptions, "tls" | "trusted">> {
  const { url, cafile, ca: text } = config.conductor;
  const tls = await placementTls(config, files);
  const ca = cafile === null ? text : await files.read(cafile);
  if (url === null || ca === null) {
    return { tls };
  }
  refuseOthers(ca, cafile === null ? "[conductor] ca" : `${cafile} ([conductor] cafile)`);
  const { origin } = new URL(url.replace(/^ws/, "http"));
  return { tls, trusted: new Map([[origin, { verify: true, ca }]]) };
}

/** @throws {TlsUnusable} it is no certificate. */
function refuseOthers(ca: string, place: string): void {
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

async function placementTls({ placement }: NovaConfig, files: Files): Promise<HttpTls> {
  const read = async (path: string | null) => (path === null ? undefined : await files.read(path));
  const [ca, cert, key] = await Promise.all([placement.cafile, placement.certfile, placement.keyfile].map(read));
  return {
    verify: !placement.insecure,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    // keystoneauth, too, looks for the key in the certificate's file.
    ...(key === undefined && cert === undefined ? {} : { key: key ?? cert ?? "" }),
  };
}
