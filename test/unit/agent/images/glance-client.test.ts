import { beforeEach, describe, expect, test, vi } from "vitest";
import { GlanceClient } from "../../../../src/agent/glance-client.js";
import type { Credentials } from "../../../../src/control-plane/credentials.js";
import type { Sql } from "../../../../src/control-plane/database/sql.js";
import { PLAIN } from "../../../../src/control-plane/image/image.js";
import { createImageApi } from "../../../../src/control-plane/image/image-api.js";
import { ImageStore } from "../../../../src/control-plane/image/image-store.js";
import { PlacementError } from "../../../../src/placement-client/errors.js";
import { type Bytes, bytesOf, textIn } from "../../../../src/runtime/http.js";
import { nodeDigests } from "../../../../src/runtime/node/node-cryptography.js";
import { type VirtualRuntime, VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../fixtures/empty-store.js";

const ID = "11111111-1111-4111-8111-111111111111";
const NEVER = new AbortController().signal;
const NOVA = { userId: "nova", projectId: "service", roles: ["admin"] } as unknown as Credentials;

let world: VirtualWorld;
let control: VirtualRuntime;
let agent: VirtualRuntime;
let sql: Sql;
let store: ImageStore;
let client: GlanceClient;
let tokens: number;

beforeEach(async () => {
  world = new VirtualWorld();
  agent = world.spawn({ name: "agent" });
  sql = emptyStore({ runtime: world.spawn() }).database;
  await open();
  store.table.add(ID, { ...PLAIN, name: "one", diskFormat: "qcow2", containerFormat: "bare" });
});

/** Starts a control plane on the same disk and tables. */
async function open(cap: { readonly sizeCap?: number } = {}): Promise<void> {
  control = world.spawn({ name: "control-plane" });
  const { clock, files, logger, random } = control;
  store = new ImageStore({
    sql,
    clock,
    files,
    logger,
    digests: nodeDigests,
    folder: "/state/glance",
    ...cap,
  });
  tokens = 0;
  const api = createImageApi({
    validate: (token) => (token === `t${tokens}` ? NOVA : undefined),
    random,
    store,
    limits: () => undefined,
  });
  const { url } = await control.servers.listen({ port: 0, services: { "/image": api } });
  let currentToken = 0;
  const access = {
    credentials: async () => ({ endpoint: `${url}/image`, headers: { "x-auth-token": `t${currentToken}` } }),
    expire: () => {
      currentToken = tokens;
    },
  };
  client = new GlanceClient({ transfers: agent.transfers, timers: agent.timers, access, retries: 2 });
}

async function* parts(...chunks: readonly string[]): Bytes & AsyncGenerator<Uint8Array> {
  for (const text of chunks) {
    yield Buffer.from(text);
  }
}

async function* broken(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("a half");
  throw new Error("the disk failed");
}

const send = (bytes: Bytes, id = ID) => world.runUntil(client.upload(id, bytes, { diskFormat: "raw" }, NEVER));

async function read(id = ID) {
  const data = await client.open(id, NEVER);
  return data && { ...data, bytes: await textIn(data.bytes) };
}

const status = () => store.table.get(ID)?.status;
const listStored = () => world.runUntil(control.files.list("/state/glance"));

describe("8.13 the bytes of an image", () => {
  test("are sent and read with the TLS of [glance]", async () => {
    const sections = new Set<string | undefined>();
    const send = agent.transfers.send.bind(agent.transfers);
    vi.spyOn(agent.transfers, "send").mockImplementation((request) => {
      sections.add(request.tlsSection);
      return send(request);
    });
    await world.runUntil(client.upload(ID, parts("a"), { diskFormat: "raw" }, NEVER));
    await world.runUntil(client.open(ID, NEVER));
    expect([...sections]).toEqual(["glance"]);
  });

  test("are stored whole, and come back as they were", async () => {
    await send(parts("some ", "bytes"));
    expect(store.table.get(ID)).toMatchObject({ status: "active", size: 10, diskFormat: "raw" });
    const hash = store.table.get(ID)?.hash;
    expect(hash).toHaveLength(128);
    expect(await world.runUntil(read())).toEqual({ size: 10, diskFormat: "raw", hash, bytes: "some bytes" });
  });

  test("that break off at the driver leave the image queued, without bytes, and can be sent anew", async () => {
    await expect(send(broken())).rejects.toThrow("the disk failed");
    await world.advance(1000);
    expect([status(), await listStored()]).toEqual(["queued", []]);
    expect(store.table.get(ID)?.size).toBeNull();
    await send(parts("whole"));
    expect(status()).toBe("active");
  });

  test("are sent again while nothing of them is gone, and not after that", async () => {
    const remove = world.network.inject({
      fault: { kind: "refuse" },
      match: ({ method }) => method === "PUT",
      times: 2,
    });
    await send(parts("x"));
    remove();
    expect(status()).toBe("active");
    const other = "22222222-2222-4222-8222-222222222222";
    store.table.add(other, { ...PLAIN, diskFormat: "raw", containerFormat: "bare" });
    world.network.inject({ fault: { kind: "lose-answer" }, match: ({ method }) => method === "PUT", times: 1 });
    await expect(send(parts("y"), other)).rejects.toMatchObject({ name: "GlanceConnectionFailed" });
  });

  test("that were coming when the control plane was killed are gone, and the image is queued", async () => {
    let reached: () => void = () => {};
    const partSent = new Promise<void>((resolve) => {
      reached = resolve;
    });
    async function* slow(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("a half");
      reached();
      await new Promise(() => {});
    }
    const sent = client.upload(ID, slow(), {}, NEVER);
    const outcome = sent.catch((error: unknown) => error);
    await world.runUntil(partSent);
    expect(status()).toBe("saving");
    control.kill();
    expect(await world.runUntil(outcome)).toMatchObject({ name: "GlanceConnectionFailed" });
    await open();
    expect(status()).toBe("queued");
    await send(parts("whole"));
    expect(await listStored()).toEqual([ID, "incoming"]);
  });

  test("larger than may be are refused, and leave nothing", async () => {
    await open({ sizeCap: 4 });
    await expect(send(parts("12", "34", "5"))).rejects.toThrow("responded with 413");
    expect([status(), await listStored()]).toEqual(["queued", []]);
  });

  test("that do not fit on the disk are refused", async () => {
    world.machine.disk.setTrouble("/state", { full: true, slow: 0 });
    await expect(send(parts("x"))).rejects.toThrow(/responded with 413.*not enough disk space/);
    expect(status()).toBe("queued");
  });

  test("are taken again when the disk failed once as leftovers were removed", async () => {
    vi.spyOn(control.files, "list").mockRejectedValueOnce(new Error("input/output error"));
    await expect(send(parts("x"))).rejects.toMatchObject({ name: "GlanceConnectionFailed" });
    expect(status()).toBe("queued");
    await send(parts("x"));
    expect(status()).toBe("active");
  });

  test("are refused where they are not what was stored", async () => {
    await send(parts("some bytes"));
    await world.runUntil(control.files.write(`/state/glance/${ID}`, "some bites"));
    await expect(world.runUntil(read())).rejects.toMatchObject({ name: "ImageUnacceptable" });
    await world.runUntil(control.files.write(`/state/glance/${ID}`, "some"));
    await expect(world.runUntil(read())).rejects.toMatchObject({ name: "ImageUnacceptable" });
  });

  test("that break off on their way throw, after what has come", async () => {
    await send(parts("x".repeat(20_000)));
    const data = await world.runUntil(client.open(ID, NEVER));
    const all = (async () => {
      for await (const _ of data?.bytes ?? []) {
        control.kill();
      }
    })();
    await expect(world.runUntil(all)).rejects.toMatchObject({ name: "GlanceConnectionFailed" });
  });

  test("are none where the image has none; and not yet where they have not come", async () => {
    expect(await world.runUntil(client.open("c0ffee00-0000-4000-8000-000000000001", NEVER))).toBeNull();
    await expect(world.runUntil(read())).rejects.toMatchObject({ name: "ImageNotActive" });
    await expect(world.runUntil(read("33333333-3333-4333-8333-333333333333"))).rejects.toMatchObject({
      name: "ImageNotFound",
    });
  });

  test("of one image come once", async () => {
    await send(parts("first"));
    await expect(send(parts("second"))).rejects.toThrow("responded with 403");
    await expect(world.runUntil(client.upload(ID, parts("second"), {}, NEVER))).rejects.toThrow("responded with 409");
    expect((await world.runUntil(read()))?.bytes).toBe("first");
  });
});

describe("the Image service", () => {
  test("the request is repeated with a new token when the old one has expired", async () => {
    tokens = 1;
    await send(bytesOf("x"));
    expect(status()).toBe("active");
  });

  test("forgets an image; one that is not there is forgotten already", async () => {
    await send(parts("x"));
    await world.runUntil(client.removeUnfinished(ID));
    expect(status()).toBe("active");
    await world.runUntil(client.remove(ID));
    await world.runUntil(client.remove(ID));
    expect([status(), await listStored()]).toEqual([undefined, ["incoming"]]);
  });

  test("that is nowhere is named so, and one that does not answer too", async () => {
    const access = {
      credentials: () => Promise.reject(new PlacementError("EndpointNotFound", "no image endpoint")),
      expire: () => {},
    };
    const nowhere = new GlanceClient({ transfers: agent.transfers, timers: agent.timers, access, retries: 0 });
    await expect(nowhere.open(ID, NEVER)).rejects.toThrow("there is no Image service: no image endpoint");
    control.kill();
    await expect(world.runUntil(read())).rejects.toThrow(/Connection to glance host .* failed/);
  });
});
