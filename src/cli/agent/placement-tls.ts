import type { NovaConfig } from "../../config/nova-config.js";
import type { Files } from "../../runtime/files.js";
import type { HttpTls } from "../../runtime/node/undici-http-client.js";

/** How the agent's HTTPS is secured: by the files that `[placement]` names. @throws {FileFailure} */
export async function placementTls({ placement }: NovaConfig, files: Files): Promise<HttpTls> {
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
