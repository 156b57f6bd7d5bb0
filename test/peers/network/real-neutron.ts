import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { NETWORK_POLICIES } from "../../../src/control-plane/network/policies.js";
import { NEUTRON_CALLERS, type NeutronCaller } from "../../fixtures/neutron/neutron-callers.js";
import type { PeerResponse } from "../differential/kinds.js";
import { fetchAgain, parseJson } from "../differential/send-request.js";
import { freePort } from "../placement/real-placement.js";

const run = promisify(execFile);

export const HOW_TO_INSTALL =
  "the real Neutron is not installed; on Debian: apt-get install --no-install-recommends neutron-server python3-neutron mariadb-server python3-pymysql";

export function isInstalled(): boolean {
  const needed = ["/usr/lib/python3/dist-packages/neutron/server/__init__.py", "/usr/sbin/mariadbd"];
  return needed.every((path) => existsSync(path));
}

export interface RealNeutron {
  send(
    method: string,
    path: string,
    body: unknown,
    caller: NeutronCaller,
    headers?: Readonly<Record<string, string>>,
  ): Promise<PeerResponse>;
  stop(): Promise<void>;
}

/** The service's policies as Neutron 21 understands them: it finds owners of other records by their older name only. */
const POLICIES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(NETWORK_POLICIES).map(([name, check]) => [
      name,
      check.replace(/project_id:%\((\w+):project_id\)s/g, "tenant_id:%($1:tenant_id)s"),
    ]),
  ),
  "get_network:router:external": "",
};

/** Starts Debian's Neutron, with the agents of three hosts and without networks, and with this service's policies. */
export async function startRealNeutron(): Promise<RealNeutron> {
  const state = await mkdtemp(join(tmpdir(), "real-neutron-"));
  const port = await freePort();
  const stop = async () => {
    await run(script("stop-real.sh"), [state]);
    await rm(state, { recursive: true, force: true });
  };
  try {
    await mkdir(join(state, "policy.d"));
    // JSON is YAML.
    await writeFile(join(state, "policy.d", "policies.yaml"), JSON.stringify(POLICIES));
    await run(script("start-real.sh"), [state, String(port)]);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    stop,
    send: async (method, path, body, caller, headers = {}) => {
      const { projectId, roles } = NEUTRON_CALLERS[caller];
      const identity = { "x-user-id": caller, "x-project-id": projectId, "x-roles": roles.join(",") };
      const response = await fetchAgain(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { "content-type": "application/json", ...identity, ...headers },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: parseJson(text.replaceAll(`http://127.0.0.1:${port}`, BASE)) };
    },
  };
}

/** The base of the links in responses. */
export const BASE = "http://network.example";

function script(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
