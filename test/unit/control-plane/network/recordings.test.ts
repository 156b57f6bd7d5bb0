import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createStartNetworks } from "../../../../src/control-plane/network/start-networks.js";
import { compareBodies, sortKeysOf } from "../../../fixtures/neutron/comparison.js";
import { Identifiers } from "../../../fixtures/neutron/identifiers.js";
import { NEUTRON_CALLERS, validateNeutronCaller } from "../../../fixtures/neutron/neutron-callers.js";
import type { Reply } from "../../../fixtures/reply.js";
import { NetworkHarness } from "./network-harness.js";

/** A request to a real Neutron 21, with its response. Ids refer to each other across recordings. */
interface Recording {
  /** `023-network-create` */
  readonly name: string;
  readonly caller: string;
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** The body of a request that is not JSON. */
  readonly text?: string;
  readonly status: number;
  /** JSON, or the text of the web framework. */
  readonly response: unknown;
}

const GOLDEN = new URL("../../../fixtures/golden/neutron/recordings.json", import.meta.url);

const RECORDINGS = JSON.parse(readFileSync(GOLDEN, "utf8")) as readonly Recording[];

/** Recordings whose responses differ on purpose, with the reason. */
const MEANT: Readonly<Record<string, string>> = {
  "003-no-credentials-401": "all services here have the same response for a request without a token",
  "212-topology-dry-run": "members may run it dry, as newer releases let them",
  "017-agents": "agents also support Geneve, which the recorded Neutron did not have",
  "104-router-create": "a router with a gateway is scheduled to an agent at once",
  "119-floatingip-create": "a floating IP of a port is ACTIVE at once: no agent reports it",
  "128-floatingip-show": "a floating IP of a port is ACTIVE at once: no agent reports it",
  "162-rbac-delete-409": "the text names functions of Neutron's code and their random numbers",
  "214-topology-again": "a path without a project is unknown, which is an internal error of Neutron's",
  "078-port-create-fixed": "a port is created with its tags, as newer releases do",
};

test("each recorded request of a real Neutron has the same response", async () => {
  const harness = new NetworkHarness({}, validateNeutronCaller);
  const identifiers = new Identifiers();
  for (const host of ["devstack1", "devstack2", "devstack3"]) {
    harness.store.services.create({ host, binary: "nova-compute", topic: "compute", version: 73 });
  }
  await startAsDevstack(harness);
  const failed: string[] = [];
  for (const recording of RECORDINGS) {
    const reply = await replay(harness, recording, identifiers);
    const differences = differencesOf(recording, reply, identifiers);
    if (differences.length > 0 === recording.name in MEANT) {
      continue;
    }
    failed.push(`${recording.name}: ${differences.join("; ") || "the response is the same"}`);
  }
  expect(failed).toEqual([]);
});

/** Creates the networks of the recorded cloud. Devstack has no network that all projects share. */
async function startAsDevstack(harness: NetworkHarness): Promise<void> {
  const { admin, member } = NEUTRON_CALLERS;
  const projects = { admin: admin.projectId, demo: member.projectId };
  harness.store.transaction(() => createStartNetworks(harness.context, { start: "devstack", projects }));
  const shared = await harness.send("GET", "/networks?name=shared", undefined, "admin");
  await harness.send("DELETE", `/networks/${shared.json("networks", 0, "id")}`, undefined, "admin");
}

function replay(harness: NetworkHarness, recording: Recording, identifiers: Identifiers): Promise<Reply> {
  const { caller, method, path, headers, body, text } = recording;
  const payload = text ?? identifiers.translate(body);
  const url = `/${identifiers.translateUrl(path)}`;
  return harness.send(method, url, payload, caller === "nobody" ? "" : caller, lowerCase(headers));
}

function lowerCase(headers: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function differencesOf(recording: Recording, reply: Reply, identifiers: Identifiers): readonly string[] {
  const { status, response, path } = recording;
  if (reply.status !== status) {
    const message = identifiers.translateText(JSON.stringify(response));
    return [`${status} is ${reply.status}: ${message} is ${reply.body}`];
  }
  const text = reply.body.replaceAll("http://127.0.0.1:8774/network", "http://network.example");
  const body: unknown = text === "" ? null : parse(text);
  if (typeof response === "string") {
    return typeof body === "string" ? [] : [`text is ${text}`];
  }
  return compareBodies(response, body, identifiers, sortKeysOf(path)).map(
    ({ path, theirs, ours }) => `${path}: ${JSON.stringify(theirs)} is ${JSON.stringify(ours)}`,
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
