import { expect, test } from "vitest";
import { ConductorError } from "../../../src/conductor-client/errors.js";
import type { RejectedReport } from "../../../src/conductor-client/methods/session.js";
import { StateReports } from "../../../src/conductor-client/state-reports.js";
import { encodeError } from "../../../src/conductor-client/wire.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";

/** Creates state reports, with the sent calls and their pending replies. */
function begin() {
  const runtime = createVirtualRuntime({ seed: 1 });
  const sent: { readonly services: readonly number[]; readonly timeout: number | undefined }[] = [];
  const pendingReplies: { resolve: (rejected: readonly RejectedReport[]) => void; reject: (error: Error) => void }[] =
    [];
  const reports = new StateReports(runtime.timers, (params, { timeout }) => {
    sent.push({ services: params.reports.map(({ service }) => service), timeout });
    return new Promise((resolve, reject) => pendingReplies.push({ resolve, reject }));
  });
  const settled: string[] = [];
  const add = (service: number, more: { boot?: string; signal?: AbortSignal } = {}) => {
    const { boot, signal } = more;
    const meta = { host: `h${service}`, ...(boot === undefined ? {} : { boot }) };
    reports.add(service, meta, { timeout: 10_000, ...(signal === undefined ? {} : { signal }) }).then(
      () => settled.push(`${service} arrived`),
      (error: Error) => settled.push(`${service} ${error.name}`),
    );
  };
  return { ...runtime, reports, sent, pendingReplies: pendingReplies, settled, add };
}

test("heartbeats of half a second are one call, and each is rejected separately", async () => {
  const { add, advance, sent, pendingReplies, settled } = begin();
  add(1);
  await advance(300);
  add(2);
  add(3);
  await advance(199);
  expect(sent).toEqual([]);
  await advance(1);
  expect(sent).toEqual([{ services: [1, 2, 3], timeout: 10_000 }]);
  pendingReplies[0]?.resolve([
    { at: 1, error: encodeError(new ConductorError("ServiceNotFound", "service 2 was not found")) },
  ]);
  await advance(0);
  expect(settled.sort()).toEqual(["1 arrived", "2 ServiceNotFound", "3 arrived"]);
});

test("a full call is sent at once, the rest at the end; if a call fails, all its heartbeats fail", async () => {
  const { add, advance, reports, sent, pendingReplies, settled } = begin();
  for (let service = 0; service < 502; service += 1) {
    add(service);
  }
  expect(sent.map(({ services }) => services.length)).toEqual([500]);
  reports.flush();
  expect(sent.map(({ services }) => services.length)).toEqual([500, 2]);
  pendingReplies[1]?.reject(new ConductorError("MessagingTimeout", "no answer"));
  await advance(1_000);
  expect(settled.sort()).toEqual(["500 MessagingTimeout", "501 MessagingTimeout"]);
  expect(sent).toHaveLength(2);
});

test("the heartbeats of an ended boot never settle, whether sent or not; those of the next boot do", async () => {
  const { add, advance, reports, sent, pendingReplies, settled } = begin();
  add(1);
  await advance(500);
  add(1);
  add(1, { boot: "next" });
  add(2);
  reports.dropAll({ host: "h1" });
  await advance(500);
  expect(sent.map(({ services }) => services)).toEqual([[1], [1, 2]]);
  pendingReplies[0]?.resolve([]);
  pendingReplies[1]?.resolve([]);
  await advance(0);
  expect(settled).toEqual(["1 arrived", "2 arrived"]);
});

test("a heartbeat without a waiting caller is not sent", async () => {
  const { add, advance, sent, settled } = begin();
  const stop = new AbortController();
  add(1, { signal: stop.signal });
  add(2);
  stop.abort(new Error("stopped"));
  add(3, { signal: stop.signal });
  await advance(500);
  expect(sent.map(({ services }) => services)).toEqual([[2]]);
  expect(settled).toEqual(["1 Error", "3 Error"]);
});
