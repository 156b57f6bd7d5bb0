import { describe, expect, it } from "vitest";
import { type CheckReport, checkStart, renderReport } from "../../../../../src/cli/agent/check/print-check.js";
import { loadConfig } from "../../../../../src/cli/agent/load-config.js";
import { novaObject } from "../../../../../src/nova-rpc/objects/primitive.js";
import { NEWEST_PROFILE } from "../../../../../src/nova-rpc/objects/profile.js";
import {
  type BrokerOptions,
  BrokerRejectedError,
  type MessageBroker,
} from "../../../../../src/runtime/message-broker.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";
import { MemoryBroker } from "../../../../fixtures/memory-broker.js";
import { NovaFailure } from "../../../../fixtures/nova-conductor/nova-failure.js";
import { type ConductorRequest, connectInMemory, scriptConductor } from "../../../../fixtures/scripted-conductor.js";
import { TestPlacement } from "../../../../fixtures/world/placement.js";

const SERVICE = {
  id: 5,
  uuid: "u5",
  host: "h",
  binary: "nova-compute",
  topic: "compute",
  report_count: 7,
  version: 64,
  last_seen_up: "2026-01-01T00:00:00Z",
  disabled: false,
  forced_down: false,
};

/** Handles requests about a host that never existed. */
function emptyCloud({ what, args }: ConductorRequest): unknown {
  switch (what) {
    case "Service.get_minimum_version":
      return JSON.stringify(args).includes("nova-conductor") ? 64 : 0;
    case "Service.get_by_host_and_binary":
      return null;
    default:
      throw new NovaFailure("ComputeHostNotFound");
  }
}

const NODE = { id: 1, uuid: "8fcf3a64-0c55-4e6b-9a3b-0e5b7a5cb0a5", host: "h", hypervisor_hostname: "h" };

const OTHER_PROVIDER = "0d4b1e6c-52ad-4b2b-8f3c-2f1d3c1a7e55";

/** Handles requests about a host with existing records. */
function withService(changes: object = {}, node: object = NODE) {
  return (request: ConductorRequest): unknown => {
    if (request.what === "Service.get_by_host_and_binary") {
      return novaObject("Service", "1.22", { ...SERVICE, ...changes }, []);
    }
    return request.what.startsWith("ComputeNodeList.")
      ? novaObject("ComputeNodeList", "1.17", { objects: [novaObject("ComputeNode", "1.19", { ...node }, [])] }, [])
      : emptyCloud(request);
  };
}

interface Setting {
  readonly conf?: string;
  readonly handler?: ((request: ConductorRequest) => unknown) | null;
  readonly serviceVersion?: number;
  /** Returns how a host of the broker behaves; default: it accepts the login. */
  readonly brokerHost?: (hostname: string, let_in: () => MessageBroker) => MessageBroker;
}

async function world({ conf = "", handler = emptyCloud, serviceVersion = 64, brokerHost }: Setting = {}) {
  const runtime = createVirtualRuntime();
  const broker = new MemoryBroker();
  const requests = handler === null ? [] : await scriptConductor(broker, handler, { serviceVersion });
  const placement = new TestPlacement(runtime);
  await placement.listen(runtime, 8778);
  await runtime.files.write(
    "/etc/nova/nova.conf",
    `[DEFAULT]
host = h
transport_url = rabbit://nova:SECRET-RABBIT@rabbit1:5672,nova:SECRET-RABBIT@rabbit2:5672/nova
state_path = /state
[placement]
auth_type = admin_token
endpoint = http://u:SECRET-URL@127.0.0.1:8778
token = admin
[fake_libvirt]
connection_uri = fake-libvirt:///hypervisors/h
${conf}`,
  );
  const loaded = await loadConfig(
    { configFile: ["/etc/nova/nova.conf"], configDir: [], option: [], stateDir: "/cluster", logFormat: "pretty" },
    runtime.files,
    null,
  );
  const connectToBroker = ({ address }: BrokerOptions) => {
    const connect = () => broker.connect();
    return brokerHost?.(address.hosts[0]?.hostname ?? "", connect) ?? connect();
  };
  const abort = new AbortController();
  const check = (limits: { signal?: AbortSignal } = {}) =>
    checkStart(
      loaded,
      { runtime, connectToBroker, serviceVersion: undefined },
      { limit: 8_000, signal: limits.signal ?? abort.signal },
    );
  const run = () => runtime.runUntil(check());
  return { runtime, broker, requests: requests, abort, placement, check, run };
}

function states({ parts }: CheckReport): Readonly<Record<string, string>> {
  return Object.fromEntries(parts.map(({ name, state }) => [name, state]));
}

function found({ parts }: CheckReport, name: string) {
  return parts.find((each) => each.name === name);
}

/** Renders the report for a wide terminal without colours. */
function rendered(report: CheckReport): string {
  const plain = (text: string) => text;
  const colors = { bold: plain, dim: plain, red: plain, green: plain, yellow: plain };
  return renderReport(report, { columns: 200, colors } as never);
}

/** Creates a broker that is unreachable, or rejects the login. */
function closedBroker(rejection: Error, detail = rejection.message): MessageBroker {
  const broker = new MemoryBroker().connect();
  const waits = detail === "" ? [] : [detail];
  return {
    ...broker,
    state: "waiting",
    onState: (listener) => {
      for (const each of waits) {
        queueMicrotask(() => listener("waiting", each));
      }
    },
    connected: () => (rejection instanceof BrokerRejectedError ? Promise.reject(rejection) : new Promise(() => {})),
    close: async () => {},
  };
}

describe("--check under a real Nova", () => {
  it("finds everything that a new host needs, and leaves nothing behind", async () => {
    const { run, broker, requests, runtime } = await world();
    const before = [...broker.queueNames()];
    const report = await run();
    expect(report).toMatchObject({ host: "h", controlPlane: "nova", outcome: "starts" });
    expect(states(report)).toEqual({
      broker: "ok",
      conductor: "ok",
      placement: "ok",
      service: "ok",
      hypervisor: "ok",
      identity: "ok",
      provider: "ok",
      lease: "ok",
    });
    expect(found(report, "broker")?.found).toBe("rabbit1:5672, rabbit2:5672 answer, virtual host nova, without TLS");
    expect(found(report, "conductor")?.found).toContain(
      "a nova-compute of zed (version 64, compute RPC 6.1, Instance 2.7)",
    );
    expect(found(report, "service")?.hint).toContain("nova-manage cell_v2 discover_hosts");
    expect(found(report, "placement")?.found).toContain("http://127.0.0.1:8778 supports 1.0 to 1.");
    expect(broker.queueNames()).toEqual(before);
    expect(requests.filter(({ request }) => request.method !== "object_class_action_versions")).toEqual([]);
    expect(await runtime.files.stat("/state/compute_id")).toBeUndefined();
    expect(await runtime.files.stat("/hypervisors")).toBeUndefined();
  });

  it("prints no secret, and fits on a screen", async () => {
    const { run, runtime } = await world({
      brokerHost: (name, letIn) =>
        name === "rabbit2" ? closedBroker(new Error("connect ECONNREFUSED rabbit2:5672")) : letIn(),
      conf: "[placement]\ntoken = SECRET-TOKEN\n",
      handler: withService({ disabled: true, disabled_reason: "to be repaired", forced_down: true }),
    });
    const report = await run();
    const text = rendered(report);
    expect(`${JSON.stringify(report)} ${text} ${JSON.stringify(runtime.logs)}`).not.toContain("SECRET");
    expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(text.split("\n").length).toBeLessThanOrEqual(24);
    expect(text).toContain("service     note     id 5, version 64");
    expect(text).toContain("rabbit2:5672");
    expect(found(report, "identity")?.found).toBe(
      `none yet: a start writes ${NODE.uuid} to /state/compute_id, compute node h of this host`,
    );
    expect(found(report, "placement")?.found).toContain("accepts the user but denies read access: 403");
    expect(found(report, "broker")?.state).toBe("note");
    expect(found(report, "service")?.hint).toContain(
      "set --enable h nova-compute and openstack compute service set --up h",
    );
  });

  it.each([
    ["ACCESS_REFUSED", "check user nova and its password"],
    ["NOT_ALLOWED", "check virtual host nova"],
  ])("reports that a broker rejects the login: %s", async (code, hint) => {
    const { run } = await world({
      brokerHost: () => closedBroker(new BrokerRejectedError(code, `the login: ${code}`)),
    });
    const report = await run();
    expect(report.outcome).toBe("fails");
    expect(found(report, "broker")).toMatchObject({ state: "fails" });
    expect(found(report, "broker")?.hint).toContain(hint);
    expect(found(report, "lease")?.state).toBe("unknown");
    expect(found(report, "placement")?.state).toBe("ok");
  });

  it("ends within its timeout when nothing responds, and names the addresses", async () => {
    const { run, runtime } = await world({ brokerHost: () => closedBroker(new Error("silent"), "") });
    const began = runtime.clock.monotonic();
    const report = await run();
    expect(runtime.clock.monotonic() - began).toBeLessThan(10_000);
    expect(found(report, "broker")).toMatchObject({ state: "waits", hint: expect.stringContaining("transport_url") });
    expect(found(report, "broker")?.found).toContain("rabbit1:5672 did not respond within 8 s");
  });

  it("distinguishes a broker without conductor from a conductor that does not respond", async () => {
    const absent = await (await world({ handler: null })).run();
    expect(found(absent, "conductor")).toMatchObject({
      state: "waits",
      found: "there is no queue conductor in this virtual host",
    });
    const { run, broker, runtime } = await world({ handler: null });
    const queue = { name: "conductor", durable: false, autoDelete: false, exclusive: false, arguments: {} };
    const bindings = [{ exchange: "nova", routingKey: "conductor" }];
    const exchanges = [{ name: "nova", type: "topic", durable: false, autoDelete: false }] as const;
    await broker.connect().consume({ queue, exchanges, bindings, exclusive: false }, { message: () => {} });
    const began = runtime.clock.monotonic();
    const silent = await run();
    expect(found(silent, "conductor")).toMatchObject({
      state: "waits",
      found: expect.stringContaining("did not respond within 8 s"),
    });
    expect(runtime.clock.monotonic() - began).toBeLessThan(30_000);
  });

  it("finds a conductor that is too old, and queues of another kind", async () => {
    const old = await world({
      handler: (request) => (request.what === "Service.get_minimum_version" ? 61 : emptyCloud(request)),
      serviceVersion: 61,
    });
    expect(found(await old.run(), "conductor")).toMatchObject({ state: "fails" });
    const durable = await world({ conf: "[oslo_messaging_rabbit]\namqp_durable_queues = true\n" });
    expect(found(await durable.run(), "broker")).toMatchObject({
      state: "fails",
      hint: expect.stringContaining("[oslo_messaging_rabbit]"),
    });
  });

  it.each([
    ["so old that Nova would not start again", 60, "", "note", "beside one older than 61"],
    ["of the oldest release that it starts with", 61, "", "ok", "compute RPC 6.1"],
    [
      "where releases are mixed on purpose",
      60,
      "disable_compute_service_check_for_ffu = true",
      "ok",
      "compute RPC 6.1",
    ],
  ])("checks the oldest nova-compute: one %s", async (_, version, workaround, state, text) => {
    const { run } = await world({
      conf: `[workarounds]\n${workaround}\n`,
      handler: (request) =>
        JSON.stringify(request.args).includes("nova-compute") && request.what === "Service.get_minimum_version"
          ? version
          : emptyCloud(request),
    });
    expect(found(await run(), "conductor")).toMatchObject({ state, found: expect.stringContaining(text) });
  });

  it.each([
    ["a later release than the agent knows", NEWEST_PROFILE.serviceVersion + 1, false, "note", "Nova is newer than"],
    ["nova-computes read a topic that its own release has not", 70, true, "note", "read topic compute-alt, which"],
    ["its own release has that topic", NEWEST_PROFILE.serviceVersion, true, "ok", "compute RPC 6.5"],
    ["nobody reads that topic", 70, false, "ok", "compute RPC 6.4"],
  ])("reports a Nova whose topics the agent does not read: %s", async (_, version, isRead, state, text) => {
    const { run, broker } = await world({ serviceVersion: version });
    if (isRead) {
      const queue = { name: "compute-alt", durable: false, autoDelete: false, exclusive: false, arguments: {} };
      await broker.connect().consume({ queue, exchanges: [], bindings: [], exclusive: false }, { message: () => {} });
    }
    const conductor = found(await run(), "conductor");
    expect(conductor).toMatchObject({ state, found: expect.stringContaining(text) });
    expect(conductor?.hint.includes("[upgrade_levels] compute")).toBe(state === "note");
  });

  it("reports the holder of the host: another agent, or a real nova-compute", async () => {
    const { run, broker, runtime } = await world({ handler: withService() });
    const other = connectInMemory(broker, runtime);
    const session = other.host("h");
    await runtime.runUntil(session.acquireLease());
    expect(found(await run(), "lease")).toMatchObject({
      state: "fails",
      found: "another compute-agent has queue compute-agent.lease.h",
    });
    await runtime.runUntil(other.close());
    expect(found(await run(), "lease")?.state).toBe("ok");
    const queue = { name: "compute.h", durable: false, autoDelete: false, exclusive: false, arguments: {} };
    await broker.connect().consume({ queue, exchanges: [], bindings: [], exclusive: false }, { message: () => {} });
    expect(found(await run(), "lease")).toMatchObject({
      state: "fails",
      found: "a real nova-compute reads queue compute.h",
    });
  });

  it("finds a nova-compute of the host that is shutting down: it reads only the alternate topic", async () => {
    const { run, broker } = await world({ serviceVersion: NEWEST_PROFILE.serviceVersion });
    const queue = { name: "compute-alt.h", durable: false, autoDelete: false, exclusive: false, arguments: {} };
    await broker.connect().consume({ queue, exchanges: [], bindings: [], exclusive: false }, { message: () => {} });
    expect(found(await run(), "lease")).toMatchObject({
      state: "fails",
      found: "a real nova-compute reads queue compute-alt.h",
    });
  });

  it("detects that the records contradict the machine", async () => {
    const { run } = await world({ handler: withService({ version: 66 }) });
    expect(found(await run(), "identity")).toMatchObject({
      state: "fails",
      found: expect.stringContaining("No local node identity found"),
      hint: expect.stringContaining("/state/compute_id"),
    });
  });

  it("finds the node's provider by the node's uuid, and reports that an operator renamed it", async () => {
    const { run, runtime, placement } = await world({ handler: withService() });
    await runtime.files.write("/state/compute_id", `${NODE.uuid}\n`);
    expect(found(await run(), "provider")).toMatchObject({
      state: "ok",
      found: expect.stringContaining("no provider h yet"),
    });
    placement.ask("POST", "/resource_providers", { uuid: NODE.uuid, name: "h" });
    expect(found(await run(), "provider")).toMatchObject({
      state: "ok",
      found: expect.stringContaining("Placement has provider h"),
      hint: "",
    });
    placement.ask("PUT", `/resource_providers/${NODE.uuid}`, { name: "renamed" });
    const report = await run();
    expect(rendered(report)).toMatch(/\nWarning: the agent would start, but could not update Placement\.$/);
    expect(found(report, "provider")).toMatchObject({
      state: "degraded",
      found: expect.stringContaining(
        `resource provider ${NODE.uuid} of compute node h has the name renamed in Placement, expected h`,
      ),
      hint: `rename it: openstack resource provider set --name h ${NODE.uuid}`,
    });
  });

  it.each([
    ["a new host", emptyCloud],
    ["a known host", withService()],
  ])("reports that another provider has the name of the node: %s", async (_, handler) => {
    const { run, runtime, placement } = await world({ handler });
    await runtime.files.write("/state/compute_id", `${NODE.uuid}\n`);
    placement.ask("POST", "/resource_providers", { uuid: OTHER_PROVIDER, name: "h" });
    const report = await run();
    expect(report.outcome).toBe("degraded");
    expect(found(report, "provider")).toMatchObject({
      state: "degraded",
      found: expect.stringContaining(
        `no resource provider ${NODE.uuid} in Placement, and resource provider ${OTHER_PROVIDER} already has the name h`,
      ),
      hint: expect.stringContaining(`openstack resource provider delete ${OTHER_PROVIDER}`),
    });
  });

  it("reports a provider.yaml that a start rejects", async () => {
    const { run, runtime } = await world({ conf: "[compute]\nprovider_config_location = /providers\n" });
    await runtime.files.write("/providers/one.yaml", "meta: { schema_version: 2 }\nproviders: []\n");
    const report = await run();
    expect(report.outcome).toBe("fails");
    expect(found(report, "service")).toMatchObject({
      state: "fails",
      found: expect.stringMatching(/one\.yaml.*schema_version must be a quoted version/),
    });
  });

  it("detects credentials that Placement rejects, and an unreachable Placement", async () => {
    const unreachable = await world({ conf: "[placement]\nendpoint = http://127.0.0.1:9\n" });
    expect(found(await unreachable.run(), "placement")).toMatchObject({
      state: "waits",
      found: expect.stringContaining("http://127.0.0.1:9"),
    });
    const keystone = await world({
      conf: "[placement]\nauth_type = password\nauth_url = http://127.0.0.1:8778\nusername = nova\npassword = SECRET-P\nproject_id = p\n",
    });
    const report = await keystone.run();
    expect(found(report, "keystone")).toMatchObject({
      state: "fails",
      found: expect.stringContaining("127.0.0.1:8778"),
    });
    expect(found(report, "placement")).toMatchObject({ state: "unknown" });
    expect(JSON.stringify(report)).not.toContain("SECRET");
  });

  it("is stopped at once", async () => {
    const { check, abort, runtime, broker } = await world({ brokerHost: () => closedBroker(new Error("silent"), "") });
    const before = [...broker.queueNames()];
    const checked = check();
    checked.catch(() => {});
    abort.abort(new Error("stopped"));
    const began = runtime.clock.monotonic();
    await expect(runtime.runUntil(checked)).rejects.toThrow("stopped");
    expect(runtime.clock.monotonic() - began).toBeLessThan(100);
    expect(broker.queueNames()).toEqual(before);
  });
});
