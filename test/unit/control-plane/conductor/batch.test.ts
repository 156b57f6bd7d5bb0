import { expect, it } from "vitest";
import { Batch } from "../../../../src/control-plane/conductor/batch.js";
import type { Message } from "../../../../src/control-plane/conductor/session.js";

const WRITE = "service_report_state";
const READ = "instances_by_host";

function messages(...methods: readonly string[]): Message[] {
  return methods.map((method, id) => ({ kind: "request", request: { id, method, params: {}, meta: {} } }));
}

/** Runs a batch and returns a log of its transactions and their messages. */
function runBatch(batch: readonly Message[], options: { commits?: boolean; due?: boolean } = {}) {
  const log: string[] = [];
  const store = {
    batch: <T>(work: () => T): T => {
      log.push("begin");
      const result = work();
      if (options.commits === false) {
        log.push("undone");
        throw new Error("the disk is full");
      }
      log.push("commit");
      return result;
    },
  };
  const carrier = new Batch(store, batch, (message) => {
    const id = message.kind === "request" ? message.request.id : null;
    log.push(String(id));
    return { jsonrpc: "2.0", id: id ?? null, result: null };
  });
  while (!carrier.done) {
    carrier.goOn({ due: options.due ?? false });
  }
  return { log: log.join(" "), responseCount: carrier.responses.length };
}

it("only writes, leases and the reads between them share a transaction", () => {
  expect(runBatch(messages(READ, WRITE, WRITE, READ, "host_lease", WRITE, "host_serve", WRITE, "host_serve"))).toEqual({
    log: "0 begin 1 2 3 4 5 commit 6 7 8",
    responseCount: 9,
  });
  expect(runBatch(messages("host_lease", READ, "host_serve", READ, READ)).log).toBe("begin 0 1 commit 2 3 4");
});

it("a transaction ends when other event-loop work is due", () => {
  expect(runBatch(messages(WRITE, WRITE, WRITE), { due: true }).log).toBe("begin 0 commit begin 1 commit 2");
});

it("messages whose shared transaction fails are tried one by one", () => {
  expect(runBatch(messages(WRITE, WRITE, READ, WRITE, WRITE), { commits: false })).toEqual({
    log: "begin 0 1 2 3 4 undone 0 1 2 3 4",
    responseCount: 5,
  });
});
