import { afterEach, beforeEach, expect, it } from "vitest";
import { LocalCloud } from "./support/local-cloud.js";
import { Operator } from "./support/operator.js";

let cloud: LocalCloud;
let operator: Operator;

beforeEach(async () => {
  cloud = await LocalCloud.start();
  operator = new Operator(cloud);
});
afterEach(() => cloud.dispose());

/** Returns the value of a sample, by the beginning of its line. */
function sample(text: string, start: string): number {
  const line = text.split("\n").find((candidate) => candidate.startsWith(`openstack_nova_compute_${start}`));
  return Number(line?.split(" ").at(-1));
}

it("an agent serves metrics over HTTP, logs JSON with the request id of the API, and no secret", async () => {
  const agent = await cloud.startAgent("devstack1", {
    args: ["--metrics-port", "0", "--log-format", "json", "--debug"],
  });
  const [, url = ""] = await agent.printed(/metrics on (http:\S+)/);
  const id = await operator.boot("vm1");
  await operator.serverIn(id, "ACTIVE");
  const actions = await cloud.compute("GET", `/servers/${id}/os-instance-actions`);
  const requestId = String(actions.body.instanceActions?.[0]?.request_id);

  const response = await fetch(url);
  const metrics = await response.text();
  expect([response.status, sample(metrics, 'host_lease_held{host="devstack1"}')]).toEqual([200, 1]);
  expect(sample(metrics, "conductor_connected")).toBe(1);
  expect(sample(metrics, 'claims_total{host="devstack1",kind="instance",outcome="succeeded"}')).toBe(1);
  expect(sample(metrics, 'driver_calls_total{host="devstack1",method="spawn",outcome="success"}')).toBe(1);
  expect(sample(metrics, 'placement_requests_total{host="devstack1",method="PUT"')).toBeGreaterThan(0);

  await agent.stop();
  const lines = agent.stderr.split("\n").filter((line) => line !== "");
  const records = lines.map((line) => JSON.parse(line) as { readonly request_id?: string; readonly message: string });
  expect(records.filter((record) => record.request_id === requestId).length).toBeGreaterThan(0);
  const text = [agent.stdout, agent.stderr, cloud.controlPlane.stdout, cloud.controlPlane.stderr].join("\n");
  for (const secret of [await cloud.token(), await cloud.joinToken()]) {
    expect(secret.length).toBeGreaterThan(10);
    expect(text).not.toContain(secret);
  }
});

it("the log is pretty by default: one line each, with the request id in brackets", async () => {
  const agent = await cloud.startAgent("devstack1", { args: ["--debug"] });
  const id = await operator.boot("vm1");
  await operator.serverIn(id, "ACTIVE");
  await agent.stop();
  expect(agent.stderr).toMatch(
    /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \d+ DEBUG \[req-[0-9a-f-]{36}\] \[instance: [0-9a-f-]{36}\] received build/m,
  );
});
