import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { audit } from "../../../src/audit/audit.js";
import { openCloud } from "../../../src/audit/cloud/open-cloud.js";
import { applyPlan } from "../../../src/audit/plan/apply-plan.js";
import { quietLogger } from "../../../src/cli/ui/logging.js";
import { type Cluster, startCluster } from "../../../src/cluster/index.js";
import { createNodeRuntime } from "../../../src/runtime/node/node-runtime.js";

type Body = Readonly<Record<string, unknown>>;

const VERSIONS: Readonly<Record<string, string>> = { compute: "compute 2.89", "block-storage": "volume 3.70" };

/** Longer than a volume may be attached or detached without progress, in seconds. */
const STUCK = 320;

let cloud: Cluster;

beforeAll(async () => {
  cloud = await startCluster({ hosts: 2, time: "virtual" });
});
afterEach(() => cloud.reset());
afterAll(() => cloud?.stop());

async function send(service: string, method: string, path: string, body?: Body): Promise<Body> {
  const headers = { "content-type": "application/json", "openstack-api-version": VERSIONS[service] ?? "" };
  const response = await cloud.fetch(service, path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await response.text();
  expect(response.status, `${method} ${path}: ${text}`).toBeLessThan(300);
  return (text === "" ? {} : JSON.parse(text)) as Body;
}

async function idOf(reply: Promise<Body>): Promise<string> {
  const [record] = Object.values(await reply) as { readonly id: string }[];
  return record?.id ?? "";
}

async function firstId(service: string, path: string): Promise<string> {
  const [records] = Object.values(await send(service, "GET", path)) as { readonly id: string }[][];
  return records?.[0]?.id ?? "";
}

async function volumeView(id: string) {
  const { volume } = await send("block-storage", "GET", `/volumes/${id}`);
  return volume as { readonly status: string; readonly attachments: readonly { readonly host_name: string }[] };
}

async function becomes(volume: string, status: string): Promise<void> {
  await expect.poll(async () => (await volumeView(volume)).status, { timeout: 10_000 }).toBe(status);
}

async function createVolume(): Promise<string> {
  const volume = await idOf(send("block-storage", "POST", "/volumes", { volume: { size: 1 } }));
  await becomes(volume, "available");
  return volume;
}

/** Creates a server without volumes on a host. */
async function createServer(host: string): Promise<string> {
  const imageRef = await firstId("image", "/v2/images");
  const flavorRef = await firstId("compute", "/flavors");
  const server = { name: "vm1", imageRef, flavorRef, networks: "none", availability_zone: `nova:${host}` };
  const id = await idOf(send("compute", "POST", "/servers", { server }));
  await cloud.settled();
  return id;
}

function attach(server: string, volumeId: string): Promise<Body> {
  return send("compute", "POST", `/servers/${server}/os-volume_attachments`, { volumeAttachment: { volumeId } });
}

function detach(server: string, volume: string): Promise<Body> {
  return send("compute", "DELETE", `/servers/${server}/os-volume_attachments/${volume}`);
}

async function restart(host: string): Promise<void> {
  await cloud.hosts(host).kill();
  await cloud.faults.clear(host);
  await cloud.hosts(host).start();
}

/** Audits the cluster, and applies the plan. Returns codes, what is left, and the outcomes of the edits. */
async function repair() {
  const { http } = createNodeRuntime({ logger: quietLogger });
  const { authUrl, username, password, projectName, userDomainId, projectDomainId, region } = cloud.credentials;
  try {
    const audited = await openCloud(http, {
      name: "devstack",
      authUrl,
      credentials: { kind: "password", user: { name: username, domain: { id: userDomainId } }, password },
      scope: { kind: "project", name: projectName, domain: { id: projectDomainId } },
      interface: "public",
      region,
      endpoints: {},
    });
    const options = { clock: { now: () => cloud.now }, maxShare: 1, thorough: true, onProgress: () => undefined };
    const { findings, plan } = await audit(audited, options);
    const lines = await applyPlan(audited, plan, { undo: false });
    return {
      findings: findings.map(({ code, explanation }) => `${code}: ${explanation}`),
      left: findings.map(({ left }) => left),
      outcomes: lines.map(({ outcome }) => outcome.state),
    };
  } finally {
    await http.close();
  }
}

it("removes the attachment on the source that an evacuation has left", async () => {
  const [server, volume] = [await createServer("devstack1"), await createVolume()];
  await attach(server, volume);
  await becomes(volume, "in-use");
  await cloud.hosts("devstack1").kill();
  const service = await firstId("compute", "/os-services?binary=nova-compute&host=devstack1");
  await send("compute", "PUT", `/os-services/${service}`, { forced_down: true });
  await send("compute", "POST", `/servers/${server}/action`, { evacuate: {} });
  await cloud.settled();
  // The request that removes the source's attachment is lost: it stays beside the destination's.
  const attachment = await idOf(
    send("block-storage", "POST", "/attachments", {
      attachment: { volume_uuid: volume, instance_uuid: server, connector: { host: "devstack1" } },
    }),
  );
  await send("block-storage", "POST", `/attachments/${attachment}/action`, { "os-complete": {} });
  await cloud.hosts("devstack1").start();
  await send("compute", "PUT", `/os-services/${service}`, { forced_down: false });
  await cloud.settled();
  await cloud.advance(STUCK);
  const hostsOf = async () => (await volumeView(volume)).attachments.map(({ host_name: host }) => host);
  expect((await hostsOf()).toSorted()).toEqual(["devstack1", "devstack2"]);

  expect(await repair()).toEqual({
    findings: [
      `leftover-attachment: volume ${volume} is attached to server vm1 on host devstack1, and the server has the ` +
        "volume by another attachment",
    ],
    left: [null],
    outcomes: ["done"],
  });
  expect(await hostsOf()).toEqual(["devstack2"]);
  expect((await repair()).findings).toEqual([]);
  await detach(server, volume);
  await becomes(volume, "available");
});

it("frees a volume whose detachment hangs in the driver, so that it can be detached again", async () => {
  const [server, volume] = [await createServer("devstack1"), await createVolume()];
  await attach(server, volume);
  await becomes(volume, "in-use");
  await cloud.faults.set("devstack1", "driver.detachVolume=hang");
  await detach(server, volume);
  await becomes(volume, "detaching");
  await cloud.hosts("devstack1").kill();
  await cloud.advance(STUCK);

  const { findings, outcomes } = await repair();
  expect(findings).toEqual([
    expect.stringMatching(
      `^stuck-volume: volume ${volume} has been detaching for \\d+ s, and is still attached to server vm1$`,
    ),
  ]);
  expect(outcomes).toEqual(["done"]);
  await becomes(volume, "in-use");
  await cloud.faults.clear("devstack1");
  await cloud.hosts("devstack1").start();
  await cloud.settled();
  await detach(server, volume);
  await becomes(volume, "available");
  expect((await repair()).findings).toEqual([]);
});

it("frees a volume that its guest has released, but whose attachment stayed", async () => {
  const [server, volume] = [await createServer("devstack1"), await createVolume()];
  await attach(server, volume);
  await becomes(volume, "in-use");
  await cloud.faults.set("devstack1", "agent.detach_volume.release=hang:once");
  await detach(server, volume);
  await becomes(volume, "detaching");
  await cloud.hosts("devstack1").kill();
  await cloud.faults.clear("devstack1");
  await cloud.advance(STUCK);

  const { findings, outcomes } = await repair();
  expect(findings).toEqual([expect.stringMatching(`^stuck-volume: volume ${volume} has been detaching for `)]);
  expect(outcomes).toEqual(["done"]);
  await becomes(volume, "in-use");
  await cloud.hosts("devstack1").start();
  await cloud.settled();
  await detach(server, volume);
  await becomes(volume, "available");
  expect((await repair()).findings).toEqual([]);
});

it("reports an attachment that a kill has interrupted, which the restarted host finishes", async () => {
  const [server, volume] = [await createServer("devstack1"), await createVolume()];
  await cloud.faults.set("devstack1", "agent.attach_volume.complete=hang:once");
  await attach(server, volume);
  await becomes(volume, "attaching");
  await cloud.hosts("devstack1").kill();
  await cloud.advance(STUCK);

  expect(await repair()).toEqual({
    findings: [
      expect.stringMatching(
        `^stuck-volume: volume ${volume} has been attaching for \\d+ s by server vm1; the attachment was interrupted$`,
      ),
    ],
    left: [expect.stringMatching(/^restart nova-compute of the server's host/)],
    outcomes: [],
  });
  await restart("devstack1");
  await becomes(volume, "in-use");
  await cloud.advance(STUCK);
  expect((await repair()).findings).toEqual([]);
});
