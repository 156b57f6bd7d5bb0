import { beforeEach, expect, it } from "vitest";
import { GuestReports } from "../../../src/conductor-client/state-reports.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";

let runtime: ReturnType<typeof createVirtualRuntime>;
let reports: GuestReports;
let sent: { readonly method: string; readonly params: { readonly hosts: readonly string[] } }[];

beforeEach(() => {
  runtime = createVirtualRuntime();
  reports = new GuestReports(runtime);
  sent = [];
});

const newLink = () => ({ open: true, send: (message: object) => void sent.push(message as (typeof sent)[number]) });
const getReports = () => sent.map(({ params }) => params.hosts);

it("changes are sent only while the guests are watched", async () => {
  const link = newLink();
  reports.changed("one");
  await runtime.advance(1_000);
  reports.watched(true, link);
  reports.changed("one");
  reports.changed("two");
  reports.changed("one");
  await runtime.advance(1_000);
  expect(sent).toEqual([{ jsonrpc: "2.0", method: "guests_changed", params: { hosts: ["one", "two"] } }]);
  reports.changed("one");
  reports.watched(false, link);
  reports.changed("two");
  await runtime.advance(1_000);
  expect(sent).toHaveLength(1);
});

it("nothing is sent on a link that has ended, and on the next link only after a request there", async () => {
  const [first, next] = [newLink(), newLink()];
  reports.watched(true, first);
  reports.changed("one");
  first.open = false;
  await runtime.advance(1_000);
  reports.changed("one");
  await runtime.advance(1_000);
  expect(sent).toEqual([]);
  reports.watched(true, next);
  reports.changed("two");
  await runtime.advance(1_000);
  expect(getReports()).toEqual([["two"]]);
});

it("one message names at most a thousand hosts", async () => {
  reports.watched(true, newLink());
  for (let host = 0; host < 2_500; host += 1) {
    reports.changed(`host${host}`);
  }
  await runtime.advance(1_000);
  expect(getReports().map((hosts) => hosts.length)).toEqual([1_000, 1_000, 500]);
});
