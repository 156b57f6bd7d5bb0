import { beforeEach, describe, expect, test } from "vitest";
import type { ConductorError } from "../../../../src/conductor-client/errors.js";
import { respond, Session } from "../../../../src/control-plane/conductor/session.js";
import type { Socket } from "../../../../src/runtime/sockets.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

const LIMITS = { bufferedBytes: 100, callsUnderWay: 2 };
const META = { host: "devstack1", timeout: 1000 };

let runtime: ReturnType<typeof createVirtualRuntime>;
let sent: unknown[];
let ends: unknown[];
let buffered: number;
let session: Session;

beforeEach(() => {
  runtime = createVirtualRuntime({ seed: 7 });
  [sent, ends, buffered] = [[], [], 0];
  const socket = {
    send: (text: string) => sent.push(JSON.parse(text)),
    get bufferedBytes() {
      return buffered;
    },
    terminate: () => ends.push("terminated"),
    close: (...reason: unknown[]) => ends.push(reason),
  };
  session = new Session(socket as unknown as Socket, { ...runtime, limits: LIMITS }, "http://c");
});

function outcome(request: Promise<unknown>) {
  return request.then(
    (result) => ({ result }),
    (error: Error) => ({ error }),
  );
}

describe("calls", () => {
  test("each call has its own id and gets its own response once", async () => {
    const one = session.ask("reboot_instance", { params: { a: 1 }, meta: META });
    const two = session.ask("reboot_instance", { params: { a: 2 }, meta: META });
    expect(sent).toEqual(
      [1, 2].map((id) => ({ jsonrpc: "2.0", id, method: "reboot_instance", params: { a: id }, meta: META })),
    );
    session.handleResponse({ id: 2, result: "second" });
    session.handleResponse({ id: 2, result: "again" });
    session.handleResponse({ id: 7, result: "nobody's" });
    session.handleResponse({
      id: 1,
      error: { code: -32000, message: "no", data: { name: "InstanceNotFound", details: {} } },
    });
    expect(await two).toBe("second");
    expect(await outcome(one)).toMatchObject({ error: { message: expect.stringContaining("no") } });
  });

  test("a call without a response in time fails; after a response its timeout is cancelled", async () => {
    const inTime = session.ask("reboot_instance", { params: {}, meta: META });
    const late = outcome(session.ask("reboot_instance", { params: {}, meta: META }));
    session.handleResponse({ id: 1, result: null });
    await runtime.advance(999);
    session.recordFrame();
    await runtime.advance(1);
    expect(await inTime).toBeNull();
    const { error } = (await late) as { error: ConductorError };
    expect(error).toMatchObject({ code: "MessagingTimeout" });
    expect(error.data).toMatchObject({ host: "devstack1" });
    session.handleResponse({ id: 2, result: "too late" });
  });

  test("a call without a timeout waits until the connection ends", async () => {
    const request = outcome(session.ask("reboot_instance", { params: {}, meta: { host: "devstack1" } }));
    await runtime.advance(3_600_000);
    session.ended();
    expect(session.closed).toBe(true);
    expect(await request).toMatchObject({ error: expect.objectContaining({ code: "MessagingTimeout" }) });
  });

  test("when the connection ends, all calls fail, their timers end, and nothing more is sent", async () => {
    const both = [1, 2].map(() => outcome(session.ask("reboot_instance", { params: {}, meta: META })));
    session.ended();
    session.ended();
    for (const request of both) {
      expect(await request).toMatchObject({ error: expect.objectContaining({ code: "MessagingTimeout" }) });
    }
    const after = await outcome(session.ask("reboot_instance", { params: {}, meta: META }));
    expect(after).toMatchObject({ error: { message: expect.stringContaining("reboot_instance") } });
    session.notify("ping", {});
    expect(sent).toHaveLength(2);
    session.handleResponse({ id: 1, result: "late" });
  });
});

describe("outgoing messages", () => {
  test("a client that does not read is disconnected at the first byte over the limit", () => {
    buffered = LIMITS.bufferedBytes;
    session.notify("ping", { n: 1 });
    expect(sent).toEqual([{ jsonrpc: "2.0", method: "ping", params: { n: 1 } }]);
    expect(ends).toEqual([]);
    buffered += 1;
    session.notify("ping", {});
    expect(ends).toEqual(["terminated"]);
  });

  test("a response that cannot be serialized becomes an error with its id", () => {
    const endless: Record<string, unknown> = {};
    endless.again = endless;
    session.send(respond(5, { result: endless }));
    session.send({ method: "ping", params: endless });
    expect(sent).toEqual([
      { jsonrpc: "2.0", id: 5, error: expect.anything() },
      { jsonrpc: "2.0", id: null, error: expect.anything() },
    ]);
  });

  test("it is closed with a reason, or terminated", () => {
    session.close(1001, "stopping");
    session.terminate();
    expect(ends).toEqual([[1001, "stopping"], "terminated"]);
  });
});

test("it records when it was opened and last active, the agent's identity, and its load", async () => {
  const connectedAt = session.connectedAt;
  expect([session.lastFrameAt, session.closed, session.identity]).toEqual([connectedAt, false, undefined]);
  await runtime.advance(250);
  session.recordFrame();
  expect([session.connectedAt, session.lastFrameAt - connectedAt]).toEqual([connectedAt, 250]);
  const identity = { bootId: "b", pid: 1, machine: "m", version: "1" };
  session.introduce(identity);
  expect(session.identity).toEqual(identity);
  expect(session.acknowledged).toBe(-1);
  const limits = [0, 1, 2, 3].map((calls) => {
    session.underWay = calls;
    return session.overLimit;
  });
  expect(limits).toEqual([false, false, true, true]);
});
