import { describe, expect, test } from "vitest";
import { createFaultyRuntime, RUNTIME_FAULT_POINTS } from "../../../src/faults/fault-injection.js";
import { FaultSet } from "../../../src/faults/fault-set.js";
import { faultTable, parseFaultRule } from "../../../src/faults/faults.js";
import { HttpConnectFailure, type HttpRequest, HttpTimeout } from "../../../src/runtime/http.js";
import type { Socket } from "../../../src/runtime/sockets.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";

const PROVIDER = "11111111-1111-4111-8111-111111111111";
const PLACEMENT = { "openstack-api-version": "placement 1.39" };
function request(changes: Partial<HttpRequest> = {}): HttpRequest {
  return {
    method: "PUT",
    url: `http://127.0.0.1:8778/placement/allocations/${PROVIDER}`,
    headers: PLACEMENT,
    ...changes,
  };
}

function setUp(...faultRules: readonly string[]) {
  const runtime = createVirtualRuntime();
  const faults = new FaultSet(runtime);
  const sent: HttpRequest[] = [];
  const sockets: { readonly socket: Socket; broken: boolean; close: () => void }[] = [];
  const faultyRuntime = createFaultyRuntime(
    {
      ...runtime,
      http: {
        request: async (received) => {
          sent.push(received);
          return { status: 204, headers: {}, body: "" };
        },
        close: async () => {},
      },
      sockets: {
        connect: async () => {
          const made: (typeof sockets)[number] = {
            socket: {
              terminate: () => {
                made.broken = true;
              },
              onClose: (listener: () => void) => {
                made.close = listener;
              },
            } as Socket,
            broken: false,
            close: () => {},
          };
          sockets.push(made);
          return made.socket;
        },
      },
    },
    faults,
  );
  for (const text of faultRules) {
    faults.set(parseFaultRule(text, faultTable(RUNTIME_FAULT_POINTS)));
  }
  return { runtime, faultyRuntime: faultyRuntime, faults, sent, sockets };
}

describe("Ironic with faults", () => {
  const NODE = `http://127.0.0.1:6385/v1/nodes/${PROVIDER}`;
  const ironic = (changes: Partial<HttpRequest> = {}): HttpRequest =>
    request({ method: "PATCH", url: NODE, headers: { "x-openstack-ironic-api-version": "1.82" }, ...changes });

  test("a status has Ironic's format: a string in JSON in JSON", async () => {
    const { faultyRuntime, sent } = setUp("ironic.patch.nodes=409:once");
    const { status, body } = await faultyRuntime.http.request(ironic());
    const ironicError = JSON.parse(JSON.parse(body).error_message) as { faultstring: string };
    expect([status, ironicError.faultstring]).toEqual([409, expect.stringContaining("is locked by host")]);
    expect((await faultyRuntime.http.request(ironic())).status).toBe(204);
    expect(sent).toHaveLength(1);
  });

  test("the last known path segment determines the resource; Placement's requests are not Ironic's", async () => {
    const { faultyRuntime } = setUp("ironic.put.provision=refuse", "ironic.get=lose-answer");
    const provision = ironic({ method: "PUT", url: `${NODE}/states/provision` });
    await expect(faultyRuntime.http.request(provision)).rejects.toThrow(HttpConnectFailure);
    expect((await faultyRuntime.http.request(ironic({ method: "PUT", url: `${NODE}/states/power` }))).status).toBe(204);
    await expect(faultyRuntime.http.request(ironic({ method: "GET" }))).rejects.toThrow(HttpConnectFailure);
    expect((await faultyRuntime.http.request(request({ method: "GET" }))).status).toBe(204);
  });
});

describe("9.4 Placement with faults", () => {
  test("without a fault, requests pass", async () => {
    const { faultyRuntime, sent } = setUp();
    expect(await faultyRuntime.http.request(request())).toMatchObject({ status: 204 });
    expect(sent).toHaveLength(1);
  });

  test("409 four times, then success; nothing was sent before", async () => {
    const { faultyRuntime, sent } = setUp("placement.put=409:4");
    const statuses: number[] = [];
    for (let turn = 0; turn < 5; turn += 1) {
      statuses.push((await faultyRuntime.http.request(request())).status);
    }
    expect(statuses).toEqual([409, 409, 409, 409, 204]);
    expect(sent).toHaveLength(1);
  });

  test("a conflict is a generation conflict in Placement's format", async () => {
    const { faultyRuntime } = setUp("placement.put=409");
    const { body } = await faultyRuntime.http.request(request());
    expect(JSON.parse(body)).toMatchObject({ errors: [{ status: 409, code: "placement.concurrent_update" }] });
  });

  test("a conflict for any request applies to writes, since reads cannot conflict; one for a named read applies", async () => {
    const { faultyRuntime } = setUp("placement=409:once", "placement.get.traits=409");
    const statuses = [
      await faultyRuntime.http.request(request({ method: "GET" })),
      await faultyRuntime.http.request(request()),
      await faultyRuntime.http.request(request()),
      await faultyRuntime.http.request(request({ method: "GET", url: "http://127.0.0.1:8778/traits" })),
    ].map(({ status }) => status);
    expect(statuses).toEqual([204, 409, 204, 409]);
  });

  test("other methods and other services are not affected", async () => {
    const { faultyRuntime } = setUp("placement.put=500", "placement.get=500");
    expect(await faultyRuntime.http.request(request({ method: "DELETE" }))).toMatchObject({ status: 204 });
    expect(await faultyRuntime.http.request(request({ headers: {} }))).toMatchObject({ status: 204 });
    expect(
      await faultyRuntime.http.request(request({ headers: { "openstack-api-version": "baremetal 1.80" } })),
    ).toMatchObject({
      status: 204,
    });
  });

  test("the resource is that at the end of the path; it precedes the method, which precedes the service", async () => {
    const { faultyRuntime } = setUp("placement=503", "placement.put=500", "placement.put.inventories=409:once");
    const url = `http://127.0.0.1:8778/resource_providers/${PROVIDER}/inventories`;
    const statuses = [
      await faultyRuntime.http.request(request()),
      await faultyRuntime.http.request(request({ url })),
      await faultyRuntime.http.request(request({ url })),
      await faultyRuntime.http.request(request({ method: "POST" })),
    ].map(({ status }) => status);
    expect(statuses).toEqual([500, 409, 500, 503]);
  });

  test("a lost response: the server acted, the client gets an error", async () => {
    const { faultyRuntime, sent } = setUp("placement.put=lose-answer:once");
    await expect(faultyRuntime.http.request(request())).rejects.toThrow(HttpConnectFailure);
    expect(sent).toHaveLength(1);
    expect(await faultyRuntime.http.request(request())).toMatchObject({ status: 204 });
  });

  test("refused: nothing was sent", async () => {
    const { faultyRuntime, sent } = setUp("placement=refuse");
    await expect(faultyRuntime.http.request(request())).rejects.toMatchObject({ code: "ECONNREFUSED" });
    expect(sent).toEqual([]);
  });

  test("slow: sent later, with the rest of the timeout; longer than the timeout: HttpTimeout", async () => {
    const { runtime, faultyRuntime, sent } = setUp("placement.put=slow:2s");
    const pendingResponse = faultyRuntime.http.request(request({ timeout: 5_000 }));
    await runtime.advance(1_999);
    expect(sent).toEqual([]);
    await runtime.runUntil(pendingResponse);
    expect(sent).toMatchObject([{ timeout: 3_000 }]);
    const late = faultyRuntime.http.request(request({ timeout: 1_000 })).catch((error: unknown) => error);
    await runtime.advance(1_000);
    expect(await late).toBeInstanceOf(HttpTimeout);
    expect(sent).toHaveLength(1);
  });

  test("hang: the caller's timeout, which is a minute by default", async () => {
    const { runtime, faultyRuntime } = setUp("placement.put=hang");
    const late = faultyRuntime.http.request(request()).catch((error: unknown) => error);
    await runtime.advance(60_000);
    expect(await late).toMatchObject({ name: "HttpTimeout", milliseconds: 60_000 });
  });
});

describe("9.4 a partition from the conductor", () => {
  const PARTITION = { point: "conductor", action: { kind: "partition", milliseconds: 30_000 }, times: null } as const;

  test("closes open connections, rejects new ones, and ends", async () => {
    const { runtime, faultyRuntime, faults, sockets } = setUp();
    await faultyRuntime.sockets.connect("ws://a");
    await faultyRuntime.sockets.connect("ws://b");
    sockets[1]?.close();
    faults.set(PARTITION);
    expect(sockets.map(({ broken }) => broken)).toEqual([true, false]);
    await expect(faultyRuntime.sockets.connect("ws://a")).rejects.toMatchObject({ code: "ECONNREFUSED" });
    expect(sockets).toHaveLength(2);
    await runtime.advance(30_000);
    await expect(faultyRuntime.sockets.connect("ws://a")).resolves.toBeDefined();
    expect(sockets[2]?.broken).toBe(false);
  });

  test("closes a connection that was being opened", async () => {
    const { faultyRuntime, faults, sockets } = setUp();
    const connecting = faultyRuntime.sockets.connect("ws://a");
    faults.set(PARTITION);
    await connecting;
    expect(sockets.map(({ broken }) => broken)).toEqual([true]);
  });
});
