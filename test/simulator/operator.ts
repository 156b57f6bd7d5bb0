import { applyPlan } from "../../src/audit/apply/apply-plan.js";
import { audit } from "../../src/audit/audit.js";
import { chooseCloud } from "../../src/audit/cloud/choose-cloud.js";
import { type Cloud, openCloud } from "../../src/audit/cloud/open-cloud.js";
import { act, pickHost, type Stage } from "./actors.js";
import type { SimulatedHost } from "./simulated-cluster.js";

/** A host that does not answer is made sure to be dead, most of the time, before its servers go elsewhere. */
export async function fence(stage: Stage): Promise<void> {
  const { dice } = stage;
  const host = pickHost(stage, ({ serves, fenced }) => !serves && !fenced);
  if (host === undefined) {
    return;
  }
  host.fenced = true;
  if (dice.chance(0.8)) {
    host.agent?.runtime.kill();
    host.agent = null;
  }
  if (!(await setForcedDown(stage, host, true))) {
    return;
  }
  for (const id of await serversOn(stage, host)) {
    if (dice.chance(0.8)) {
      await evacuateServer(stage, id);
    }
  }
}

/** What is there still is evacuated in the middle of whatever else is done to it. */
export async function evacuateOne(stage: Stage): Promise<void> {
  const host = pickHost(stage, ({ fenced }) => fenced);
  const id = host && stage.dice.pick(await serversOn(stage, host));
  if (id !== undefined) {
    await evacuateServer(stage, id);
  }
}

async function evacuateServer(stage: Stage, id: string): Promise<void> {
  const { cluster, dice } = stage;
  const host = dice.chance(0.5) ? {} : { host: dice.pick(cluster.hosts)?.name };
  const forced = "host" in host && dice.chance(0.2);
  const body = { evacuate: forced ? { ...host, force: true } : host };
  const version = forced ? "2.67" : dice.chance(0.3) ? "2.95" : "2.94";
  await act(stage, "evacuate", { method: "POST", path: `/servers/${id}/action`, body, version }, id);
}

export async function forceUp(stage: Stage): Promise<void> {
  const host = pickHost(stage, ({ fenced, serves }) => fenced && serves);
  if (host !== undefined && (await setForcedDown(stage, host, false))) {
    host.fenced = false;
  }
}

export async function setForcedDown(stage: Stage, host: SimulatedHost, forcedDown: boolean): Promise<boolean> {
  const id = await serviceId(stage, host);
  const body = { forced_down: forcedDown };
  const name = forcedDown ? "force down" : "force up";
  return (
    id !== null &&
    (await act(stage, `${name} ${host.name}`, { method: "PUT", path: `/os-services/${id}`, body })) === 200
  );
}

export async function setStatus(stage: Stage, host: SimulatedHost | undefined, status: string): Promise<void> {
  const id = host && (await serviceId(stage, host));
  if (id) {
    await act(stage, `${status} ${host.name}`, { method: "PUT", path: `/os-services/${id}`, body: { status } });
  }
}

/** Of a host that is down: its agent makes it anew when it comes back. */
export async function deleteService(stage: Stage): Promise<void> {
  const host = pickHost(stage, ({ serves }) => !serves);
  const id = host && (await serviceId(stage, host));
  if (id) {
    await act(stage, `delete service ${host.name}`, { method: "DELETE", path: `/os-services/${id}` });
  }
}

/** `compute-cluster audit`, and sometimes `apply` of what it proposes. */
export async function auditAndApply(stage: Stage): Promise<void> {
  const { runtime, dice, journal } = stage;
  const asked = { clock: runtime.clock, maxShare: 1, thorough: dice.chance(0.5), onProgress: () => undefined };
  try {
    const cloud = await cloudOf(stage);
    const { findings, plan } = await audit(cloud, asked);
    journal.note("operator", `audit: ${findings.map(({ code }) => code).join(" ")}`);
    if (plan.edits.length > 0 && dice.chance(0.7)) {
      const outcomes = await applyPlan(cloud.placement, plan, { undo: false });
      journal.note("operator", `apply: ${outcomes.map(({ outcome }) => outcome.state).join(" ")}`);
    }
  } catch (error) {
    journal.note("operator", `audit: ${error instanceof Error ? error.message : String(error)}`);
  }
}

export async function cloudOf({ runtime, cluster }: Pick<Stage, "runtime" | "cluster">): Promise<Cloud> {
  const local = { file: cluster.cloudsFile, cloud: "devstack", asked: true };
  const chosen = await chooseCloud(runtime.files, { environment: {}, cwd: "/", home: "/", local });
  return openCloud(runtime.http, chosen);
}

async function serviceId({ client }: Stage, host: SimulatedHost): Promise<string | null> {
  const answer = await client.compute("GET", `/os-services?binary=nova-compute&host=${host.name}`);
  const id = answer?.body.services?.[0]?.id;
  return id === undefined ? null : String(id);
}

async function serversOn({ client }: Stage, host: SimulatedHost): Promise<readonly string[]> {
  const answer = await client.compute("GET", `/servers?all_tenants=1&host=${host.name}`);
  return Object.values(answer?.body.servers ?? {}).map(({ id }) => String(id));
}
