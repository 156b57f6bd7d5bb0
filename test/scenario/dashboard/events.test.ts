import { afterEach, beforeEach, expect, it } from "vitest";
import { connectToConductor } from "../../../src/conductor-client/connect-to-conductor.js";
import type { AgentHandlers } from "../../../src/conductor-client/port.js";
import type { GuestsRow, RequestRow } from "../../../src/dashboard/wire/rows.js";
import { agentHandlers } from "../../fixtures/agent-handlers.js";
import { type DashboardHarness, openDashboardHarness } from "../../fixtures/dashboard.js";
import { aFlavor, anInstance } from "../../fixtures/records.js";
import { DIRECTORY } from "../../fixtures/world/control-plane.js";

const ONE = "11111111-1111-4111-8111-111111111111";

let harness: DashboardHarness;
beforeEach(async () => {
  harness = await openDashboardHarness();
});
afterEach(() => harness.stop());

function makeHost(host: string): number {
  const service = harness.store.services.create({ host, binary: "nova-compute", topic: "compute", version: 73 });
  harness.store.services.reportState(service.id);
  return service.id;
}

function makeServer(uuid = ONE, name = "<script>alert(1)</script>"): void {
  const {
    id: _,
    createdAt: __,
    ...instance
  } = anInstance({ uuid, displayName: name, host: null, node: null, computeId: null });
  harness.store.instances.create({ ...instance, flavor: aFlavor(), vmState: "active", taskState: null });
}

it("the snapshot is complete, and later changes are sent as complete rows", async () => {
  const id = makeHost("one");
  makeServer();
  const follower = await harness.follow("/events", await harness.enter());
  await follower.until("ready");
  expect(follower.hello).toMatchObject({ reset: true, name: "ci-7", readOnly: false });
  expect(follower.rows.get("host one")).toMatchObject({ state: "up", enabled: true });
  expect(follower.rows.get(`server ${ONE}`)).toMatchObject({ name: "<script>alert(1)</script>", status: "ACTIVE" });
  expect(follower.rows.get("flavor 1")).toMatchObject({ name: "m1.tiny" });
  harness.store.services.update(id, { disabled: true, disabledReason: "sick" });
  await follower.untilRow("host", "one", ({ reason }: { reason: string }) => reason === "sick");
  harness.store.instances.save(ONE, { taskState: "powering-off" });
  await follower.untilRow("server", ONE, ({ taskState }: { taskState: string }) => taskState === "powering-off");
  harness.store.instances.destroy(ONE);
  await follower.next();
  expect(follower.rows.has(`server ${ONE}`)).toBe(false);
  await follower.leave();
});

it("heartbeats are sent without the host's row, and a silent host is reported as down", async () => {
  const id = makeHost("one");
  const follower = await harness.follow("/events", await harness.enter());
  await follower.until("ready");
  const messageCount = follower.messages.length;
  harness.store.services.reportState(id);
  await follower.next();
  const kinds = follower.messages.slice(messageCount).flatMap(({ set }) => set.map(({ kind }) => kind));
  expect(kinds.filter((kind) => kind !== "scenario")).toEqual(["heartbeat"]);
  await follower.untilRow("host", "one", ({ state }: { state: string }) => state === "down");
  await follower.leave();
});

it("a thousand simultaneous changes are one message", async () => {
  makeServer();
  const follower = await harness.follow("/events", await harness.enter());
  await follower.until("ready");
  for (let progress = 0; progress < 1_000; progress += 1) {
    harness.store.instances.save(ONE, { displayName: `name ${progress}` });
  }
  await follower.next();
  expect(follower.messages.at(-1)?.set.filter(({ kind }) => kind === "server")).toEqual([
    expect.objectContaining({ key: ONE, value: expect.objectContaining({ name: "name 999" }) }),
  ]);
  await follower.leave();
});

it("a browser that reconnects gets the changes that it missed in one message; after a restart it reloads everything", async () => {
  makeServer();
  const session = await harness.enter();
  const first = await harness.follow("/events", session);
  await first.until("ready");
  harness.store.instances.save(ONE, { displayName: "seen" });
  await first.untilRow("server", ONE, ({ name }: { name: string }) => name === "seen");
  await first.leave();
  harness.store.instances.save(ONE, { displayName: "missed" });
  await harness.world.advance(100);
  harness.store.instances.save(ONE, { displayName: "missed, too" });
  await harness.world.advance(100);
  const back = await harness.follow("/events", { ...session, "last-event-id": first.lastId });
  await back.until("ready");
  expect([back.hello?.reset, back.events]).toEqual([false, ["hello", "message", "ready"]]);
  expect(back.rows.get(`server ${ONE}`)).toMatchObject({ name: "missed, too" });
  await back.leave();
  for (const id of ["other.1", `${first.lastId}9999`, "nonsense"]) {
    const anew = await harness.follow("/events", { ...session, "last-event-id": id });
    await anew.until("ready");
    expect([id, anew.hello?.reset, anew.rows.has(`server ${ONE}`)]).toEqual([id, true, true]);
    await anew.leave();
  }
});

it("requests have their own stream, which begins with those from before it was opened", async () => {
  const session = await harness.enter();
  const follower = await harness.follow("/events", session);
  await follower.until("ready");
  const ask = (path: string) =>
    harness.world.runUntil(harness.runtime.http.request({ method: "GET", url: `${harness.url}/compute/${path}` }));
  await ask("before");
  const reader = await harness.follow("/requests", session);
  await reader.until("ready");
  await ask("meanwhile");
  await reader.next();
  expect([...reader.rows.values()]).toMatchObject([
    { method: "GET", path: "/compute/before" },
    { method: "GET", path: "/compute/meanwhile" },
  ]);
  makeServer();
  await follower.untilRow("server", ONE, () => true);
  expect(follower.messages.flatMap(({ set }) => set).filter(({ kind }) => kind === "request")).toEqual([]);
  await reader.leave();
  await ask("after");
  const later = await harness.follow("/requests", session);
  await later.until("ready");
  expect([...later.rows.values()].map((row) => (row as RequestRow).path)).toEqual([
    "/compute/before",
    "/compute/meanwhile",
    "/compute/after",
  ]);
  await later.leave();
  await follower.leave();
});

it("nothing is followed before the first viewer connects, or half a minute after the last has left", async () => {
  makeHost("one");
  expect(harness.follows()).toBe(false);
  const follower = await harness.follow("/events", await harness.enter());
  await follower.until("ready");
  expect(harness.follows()).toBe(true);
  await follower.leave();
  await harness.world.advance(29_000);
  expect(harness.follows()).toBe(true);
  await harness.world.advance(2_000);
  expect(harness.follows()).toBe(false);
  expect(harness.watched.size).toBe(0);
});

it("an agent's guests are sent again when the agent reports a change", async () => {
  makeHost("one");
  const joinToken = (await harness.runtime.files.read(DIRECTORY.joinTokenFile)).trim();
  const runtime = harness.world.spawn({ name: "agent" });
  const connection = connectToConductor({ url: harness.url, joinToken, runtime });
  const session = connection.host("one");
  let state = "running";
  const own: Partial<AgentHandlers> = { list_guests: async () => [{ uuid: ONE, name: "vm1", state }] };
  await harness.world.runUntil(session.acquireLease());
  await harness.world.runUntil(session.serve(agentHandlers(() => undefined, own)));
  const follower = await harness.follow("/events", await harness.enter());
  await follower.untilRow("guests", "one", ({ guests }: GuestsRow) => guests[0]?.state === "running");
  state = "shut off";
  session.guestsChanged?.();
  await follower.untilRow("guests", "one", ({ guests }: GuestsRow) => guests[0]?.state === "shut off");
  expect(follower.rows.get("guests one")).toMatchObject({ from: "agent" });
  await follower.leave();
  await harness.world.runUntil(connection.close());
});

it("a hypervisor's guests are sent again when its folder changes, with the findings of mismatches", async () => {
  makeHost("one");
  harness.guests.set("one", []);
  const follower = await harness.follow("/events", await harness.enter());
  await follower.untilRow("guests", "one", () => true);
  harness.guests.set("one", [{ uuid: ONE, name: "instance-1", state: "running" }]);
  harness.watched.get("one")?.();
  const key = `guest one ${ONE}`;
  await follower.untilRow("finding", key, ({ code }: { code: string }) => code === "guest-without-server");
  expect(follower.rows.get("guests one")).toMatchObject({ from: "folder", guests: [{ uuid: ONE }] });
  harness.guests.set("one", []);
  harness.watched.get("one")?.();
  while (follower.rows.has(`finding ${key}`)) {
    await follower.next();
  }
  await follower.leave();
});
