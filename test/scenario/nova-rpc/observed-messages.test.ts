import { expect, it, onTestFinished } from "vitest";
import { createMetricsRegistry } from "../../../src/agent/metrics/metrics-registry.js";
import { AGENT_METHODS } from "../../../src/conductor-client/methods/agent.js";
import type { AgentHandlers } from "../../../src/conductor-client/port.js";
import { SERVED, UNSERVED } from "../../../src/nova-rpc/compute-server/served-methods.js";
import { connectToNova } from "../../../src/nova-rpc/connect-to-nova.js";
import { adminContext, seal } from "../../../src/nova-rpc/messages/oslo-message.js";
import type { NovaObject } from "../../../src/nova-rpc/objects/primitive.js";
import { profileOf } from "../../../src/nova-rpc/objects/profile.js";
import { REQUESTS } from "../../../src/nova-rpc/transport/topology.js";
import { createNodeLogger } from "../../../src/runtime/node/node-logger.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";
import { MemoryBroker } from "../../fixtures/memory-broker.js";
import { NovaFailure } from "../../fixtures/nova-conductor/nova-failure.js";
import { recording } from "../../fixtures/nova-recordings.js";
import { type ConductorRequest, RABBIT, scriptConductor } from "../../fixtures/scripted-conductor.js";

const SECRET = "PLANTED-s3cr3t";
const [BUILD] = recording("zed", "build").filter(({ msg }) => msg.method === "build_and_run_instance");
const INSTANCE = BUILD?.msg.args?.instance as NovaObject;
const UUID = String(INSTANCE["nova_object.data"].uuid);

/** Creates an agent's side of a Nova, with a real agent's log at its most verbose level, and its metrics. */
async function createHarness(respond: (request: ConductorRequest) => unknown) {
  const virtual = createVirtualRuntime();
  const lines: string[] = [];
  const logger = createNodeLogger({ level: "trace", destination: { write: (line) => lines.push(line) } });
  const runtime = { ...virtual, logger };
  const registry = await createMetricsRegistry({ leases: () => new Map(), conductorConnected: () => true });
  const broker = new MemoryBroker();
  await scriptConductor(broker, respond);
  const connection = connectToNova({
    address: { hosts: [], username: "nova", password: SECRET, virtualHost: "/", tls: null },
    rabbit: RABBIT,
    runtime,
    connectToBroker: () => broker.connect(),
    observer: registry.forHost("h"),
  });
  onTestFinished(() => virtual.runUntil(connection.close()));
  await virtual.runUntil(connection.connected());
  const session = connection.host("h", { lease: false });
  const sender = broker.connect();
  const publish = (body: string) =>
    sender.publish({ exchange: REQUESTS, routingKey: "compute.h", body, expiration: null });
  let sent = 0;
  const ask = (method: string, args: Readonly<Record<string, unknown>>) => {
    sent += 1;
    const context = { ...adminContext("req-1", 0), auth_token: SECRET, service_catalog: [{ url: SECRET }] };
    const reply = { messageId: `m${sent}`, queue: "nobody", monitorTimeout: null };
    const message = { kind: "request", method, args, version: "6.0", namespace: null, context, reply } as const;
    return publish(seal({ ...message, uniqueId: `u${sent}` }, profileOf(64)));
  };
  const sample = async (start: string) =>
    (await registry.text())
      .split("\n")
      .find((line) => line.startsWith(`openstack_nova_compute_${start} `))
      ?.split(" ")
      .at(-1);
  return { runtime: virtual, session, broker, publish, ask, lines, registry, sample };
}

it("counts messages by method: in, out, pending, returned and retried, starting at 0", async () => {
  let release = () => {};
  const { runtime, session, ask, sample } = await createHarness(async ({ what }) => {
    if (what === "Instance.get_by_uuid") {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return INSTANCE;
    }
    return null;
  });
  await runtime.runUntil(session.serve({}));
  const get = (event: string) => sample(`rpc_messages_total{host="h",event="${event}",method="Instance.get_by_uuid"}`);
  const waiting = () => sample('rpc_calls_waiting{host="h",method="Instance.get_by_uuid"}');
  const began = session.call("instance_get", { uuid: UUID });
  await runtime.advance(10);
  expect([await get("out"), await get("returned"), await get("retried"), await waiting()]).toEqual([
    "1",
    "0",
    "0",
    "1",
  ]);
  release();
  await runtime.runUntil(began);
  expect(await waiting()).toBe("0");

  const came = (method: string) => sample(`rpc_messages_total{host="h",event="in",method="${method}"}`);
  expect(await came("terminate_instance")).toBe("0");
  await ask("terminate_instance", {});
  await ask("a_method_of_somebody", {});
  await runtime.advance(10);
  expect([await came("terminate_instance"), await came("a_method_of_somebody"), await came("other")]).toEqual([
    "1",
    undefined,
    "1",
  ]);
  // The reply queue has no consumer: replies are returned, and sent again.
  await runtime.advance(1_000);
  const replies = (event: string) => sample(`rpc_messages_total{host="h",event="${event}",method="reply"}`);
  expect(Number(await replies("returned"))).toBeGreaterThan(4);
  expect(Number(await replies("retried"))).toBeGreaterThan(4);
});

it("keeps the content of messages out of logs and metrics", async () => {
  const { runtime, session, ask, publish, lines, registry } = await createHarness(({ what }) => {
    if (what !== "Instance.get_by_uuid") {
      return { [SECRET]: SECRET };
    }
    const text = `(pymysql) gone: mysql://nova:${SECRET}@db/nova [SQL: UPDATE x SET y=%(y)s]\n[parameters: {'y': '${SECRET}'}]`;
    const { failure } = new NovaFailure("DBError", text, { module: "oslo_db.exception" });
    throw Object.assign(new NovaFailure("DBError"), {
      failure: JSON.stringify({
        ...JSON.parse(failure),
        tb: [SECRET],
        args: [SECRET],
        kwargs: { password: SECRET, x: SECRET },
      }),
    });
  });
  const handlers = Object.fromEntries(
    Object.keys(AGENT_METHODS).map((method) => [method, () => session.call("instance_get", { uuid: UUID })]),
  ) as unknown as AgentHandlers;
  await runtime.runUntil(session.serve(handlers));
  const names = [
    ...Object.keys(BUILD?.msg.args ?? {}),
    ...[
      "migration",
      "migrate_data",
      "dest_check_data",
      "flavor",
      "new_pass",
      "disk_info",
      "data",
      "events",
      "console_type",
    ],
  ];
  const spoilt = Object.fromEntries(names.map((name) => [name, SECRET]));
  for (const method of [...Object.keys(SERVED), ...Object.keys(UNSERVED), "unknown_method"]) {
    await ask(method, spoilt);
    await ask(method, { ...spoilt, instance: INSTANCE, migration_id: 1 });
    await ask(method, {
      ...BUILD?.msg.args,
      ...spoilt,
      instance: INSTANCE,
      host_list: null,
      filter_properties: { x: SECRET },
    });
  }
  for (const body of [
    SECRET,
    `"${SECRET}"`,
    `{"oslo.message": "${SECRET}"}`,
    `{"oslo.message": "{\\"args\\": \\"${SECRET}\\"}"}`,
  ]) {
    await publish(body);
  }
  await runtime.advance(5_000);
  expect(lines.length).toBeGreaterThan(100);
  expect(lines.filter((line) => line.includes(SECRET))).toEqual([]);
  expect(lines.some((line) => line.includes("mysql://db/nova"))).toBe(true);
  expect(await registry.text()).not.toContain(SECRET);
});
