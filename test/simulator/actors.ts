import type { VirtualRuntime } from "../../src/simulation/virtual-world.js";
import type { Dice } from "../chaos/dice.js";
import type { Client } from "./client.js";
import type { Witness } from "./histories/witness.js";
import type { Journal } from "./journal.js";
import type { SimulatedCluster, SimulatedHost } from "./simulated-cluster.js";

/** The context of a step, with a separate random generator. */
export interface Stage {
  readonly cluster: SimulatedCluster;
  readonly client: Client;
  /** Records the client's requests and responses. */
  readonly witness: Witness;
  readonly journal: Journal;
  readonly dice: Dice;
  /** A process that is never killed. */
  readonly runtime: VirtualRuntime;
}

export function pickHost({ cluster, dice }: Stage, suits: (host: SimulatedHost) => boolean): SimulatedHost | undefined {
  return dice.pick(cluster.hosts.filter(suits));
}

/** Sends a request and records it; counts it if it is acknowledged. */
export async function act(
  { client, cluster, journal }: Stage,
  operation: string,
  request: {
    readonly method: "POST" | "PUT" | "DELETE";
    readonly path: string;
    readonly body?: unknown;
    readonly version?: string;
    /** Default: Compute. */
    readonly service?: "compute" | "network";
  },
  server?: string,
): Promise<number> {
  const { service = "compute", method, path, body, version } = request;
  const response =
    service === "network"
      ? await client.network(method, path, body)
      : await client.compute(method, path, body, version);
  const status = response?.status ?? 0;
  const [fault] = status >= 400 ? Object.values(response?.body ?? {}) : [];
  const detail = request.body === undefined ? "" : ` ${JSON.stringify(request.body)}`;
  journal.note(
    "api",
    `${operation}${detail} -> ${response === null ? "no answer" : status}${fault === undefined ? "" : `: ${String(fault.message)}`}`,
    server,
  );
  if (status >= 200 && status < 300) {
    journal.count(operation);
    if (server !== undefined && !operation.endsWith("delete") && deleteFailed(cluster, server)) {
      journal.deleted.delete(server);
    }
  }
  if (status >= 500) {
    journal.note("api", "VIOLATION an answer of 500 and more", server);
    throw new ServerError(`${operation} was answered ${status}: ${JSON.stringify(response?.body)}`);
  }
  return status;
}

/** Checks whether a delete has failed, so that the user may continue to use the server. */
function deleteFailed(cluster: SimulatedCluster, server: string): boolean {
  const last = cluster.controlPlaneRuns
    ? cluster.store.actions.list(server).find(({ action }) => /^(delete|softDelete|forceDelete)$/.test(action))
    : undefined;
  return last?.message === "Error";
}

/** The API returned a server error instead of rejecting the request. */
class ServerError extends Error {
  override readonly name = "ServerError";
}
