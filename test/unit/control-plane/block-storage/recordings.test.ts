import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { compareBodies, pairChosen } from "../../../fixtures/cinder/comparison.js";
import { Identifiers } from "../../../fixtures/neutron/identifiers.js";
import { BlockStorageHarness } from "./block-storage-harness.js";

/** A request to a real Cinder 21, with its response. Ids refer to each other across recordings. */
interface Recording {
  /** `volumes: create` */
  readonly name: string;
  readonly caller: string;
  readonly method: string;
  /** Below the mount point. */
  readonly path: string;
  readonly version?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** The body of a request that is not JSON. */
  readonly text?: string;
  /** Absent for requests that only prepare others. */
  readonly status?: number;
  readonly response?: unknown;
  /** The id of the record that an unrecorded request created. */
  readonly creates?: string;
}

const GOLDEN = new URL("../../../fixtures/golden/cinder/recordings.json", import.meta.url);

const RECORDINGS = JSON.parse(readFileSync(GOLDEN, "utf8")) as readonly Recording[];

const COUNTED = "usage is counted from records; the counter of the recorded Cinder lacked one GiB of its own volumes";

/** Recordings whose responses differ on purpose, with the reason. */
const MEANT: Readonly<Record<string, string>> = {
  "volumes: create with an unknown image": "the recorded Image service ignores filters by name",
  "volumes: create with a private image of another": "the recorded Image service ignores filters by name",
  "volume-actions: reimage none": "an unknown image is an internal error of Cinder's",
  "quotas: show usage": COUNTED,
  "quotas: over gigabytes": COUNTED,
  "quotas: over gigabytes by a snapshot": COUNTED,
  "quotas: over gigabytes by extending": COUNTED,
  "admin: pools in detail": COUNTED,
  "groups: volume in it of another type": "the text has the type's record as Python shows objects",
};

test("each recorded request of a real Cinder has the same response", async () => {
  const harness = new BlockStorageHarness();
  const identifiers = new Identifiers();
  harness.images.put("c8908b7e-09d4-42db-806d-3a326e1aa1e8", {
    name: "pub",
    minDisk: 2,
    properties: { os_distro: "x" },
  });
  harness.images.put("f0308a02-7264-4feb-b96a-08f60459c69b", { name: "small" });
  harness.images.put("666b4f7c-1619-4c88-98ea-b6ff4a0ede3a", { name: "mine", owner: "3".repeat(32) });
  const chosen = new Map<string, string>();
  const failed: string[] = [];
  for (const recording of RECORDINGS) {
    const differences = await replay(harness, recording, identifiers, chosen);
    if (differences.length > 0 === recording.name in MEANT) {
      continue;
    }
    failed.push(`${recording.name}: ${differences.join("; ") || "the response is the same"}`);
  }
  expect(failed).toEqual([]);
});

async function replay(
  harness: BlockStorageHarness,
  recording: Recording,
  identifiers: Identifiers,
  chosen: Map<string, string>,
): Promise<readonly string[]> {
  const { caller, method, path, version = null, headers = {}, body, text, creates } = recording;
  const payload = text ?? (await withUse(harness, translate(body, identifiers, chosen)));
  const url = `/${identifiers.translateUrl(path).replaceAll(" ", "%20")}`;
  const reply = await harness.send(method, url, payload, { caller, version, headers });
  if (creates !== undefined) {
    identifiers.pair(creates, String(Object.values(reply.json() as Record<string, { id: unknown }>)[0]?.id));
  }
  const { status, response } = recording;
  if (status === undefined) {
    return reply.status < 300 ? [] : [`${reply.status} ${reply.body}`];
  }
  if (status !== reply.status) {
    return [`${status} is ${reply.status}: ${identifiers.translateText(JSON.stringify(response))} is ${reply.body}`];
  }
  const received = reply.body.replaceAll("http://127.0.0.1:8774/volume", "http://127.0.0.1:18400");
  const parsed = received === "" ? null : JSON.parse(received);
  pairChosen(response, parsed, chosen);
  return compareBodies(response, parsed, identifiers).map(
    ({ path, theirs, ours }) => `${path}: ${JSON.stringify(theirs)} is ${JSON.stringify(ours)}`,
  );
}

/** Replaces limits of `in use` by what the project uses. */
async function withUse(harness: BlockStorageHarness, text: string | undefined): Promise<string | undefined> {
  const [, quota] = /"(\w+)":"in use"/.exec(text ?? "") ?? [];
  if (quota === undefined) {
    return text;
  }
  const usage = await harness.send("GET", `/os-quota-sets/${"2".repeat(32)}?usage=true`);
  return text?.replace('"in use"', String(usage.json("quota_set", quota, "in_use")));
}

/** Replaces ids and secrets of the other Cinder. */
function translate(body: unknown, identifiers: Identifiers, chosen: ReadonlyMap<string, string>): string | undefined {
  if (body === undefined) {
    return undefined;
  }
  let text = JSON.stringify(identifiers.translate(body));
  for (const [theirs, ours] of chosen) {
    text = text.replaceAll(theirs, ours);
  }
  return text;
}
