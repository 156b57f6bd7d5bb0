import { audit } from "../../src/audit/audit.js";
import { chooseCloud } from "../../src/audit/cloud/choose-cloud.js";
import { type Cloud, openCloud } from "../../src/audit/cloud/open-cloud.js";
import { applyPlan } from "../../src/audit/plan/apply-plan.js";
import type { Plan } from "../../src/audit/plan/plan.js";
import { healAllocations } from "../../src/control-plane/manage/heal-allocations.js";
import { runCommand } from "../../src/control-plane/manage/nova-manage.js";
import { createConductorAccess } from "../../src/placement-client/access/configured-access.js";
import { PlacementHttp } from "../../src/placement-client/placement-http.js";
import type { Stage } from "./actors.js";

/** Runs `compute-agent audit`, and sometimes applies its plan, undoes it, and applies it again. */
export async function auditAndApply(stage: Stage): Promise<void> {
  const { runtime, dice, journal } = stage;
  const auditOptions = { clock: runtime.clock, maxShare: 1, thorough: dice.chance(0.5), onProgress: () => undefined };
  try {
    const cloud = await cloudOf(stage);
    const { findings, plan } = await audit(cloud, auditOptions);
    journal.note("operator", `audit: ${findings.map(({ code }) => code).join(" ")}`);
    if (plan.edits.length === 0 || !dice.chance(0.7)) {
      return;
    }
    await apply(stage, cloud, plan, false);
    if (dice.chance(0.3)) {
      await runtime.timers.sleep(dice.between(0, 20_000));
      await apply(stage, cloud, plan, true);
      await runtime.timers.sleep(dice.between(0, 20_000));
      await apply(stage, cloud, plan, false);
    }
  } catch (error) {
    journal.note("operator", `audit: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function apply({ journal }: Stage, cloud: Cloud, plan: Plan, undo: boolean): Promise<void> {
  const outcomes = await applyPlan(cloud, plan, { undo });
  const states = outcomes.map(({ outcome }) => outcome.state);
  journal.note("operator", `${undo ? "apply --undo" : "apply"}: ${states.join(" ")}`);
}

export async function cloudOf({ runtime, cluster }: Pick<Stage, "runtime" | "cluster">): Promise<Cloud> {
  const local = { file: cluster.cloudsFile, cloud: "devstack", requested: true };
  const chosen = await chooseCloud(runtime.files, { environment: {}, cwd: "/", home: "/", local });
  return openCloud(runtime.http, chosen);
}

/**
 * Runs `compute-agent manage placement heal_allocations` as a separate process; for one server also with `--force`.
 */
export async function heal(stage: Stage): Promise<void> {
  const { client, cluster, dice, journal } = stage;
  const response = await client.compute("GET", "/servers?all_tenants=1");
  const instance = dice.chance(0.4) ? dice.pick(Object.values(response?.body.servers ?? {})) : undefined;
  // With --force, a server with source and destination allocations would lose one of them.
  const force = instance !== undefined && !cluster.plan.deployment.doubled && dice.chance(0.5);
  const runtime = cluster.spawn("manage");
  const connection = await cluster.connect(runtime);
  const conductor = connection.host("manage", { lease: false });
  const access = createConductorAccess({ clock: runtime.clock, ask: () => conductor.call("placement_access", {}) });
  const lines: string[] = [];
  const parts = {
    conductor,
    placement: new PlacementHttp({ http: runtime.http, clock: runtime.clock, access, userAgent: "nova-manage" }),
    timers: runtime.timers,
    random: runtime.random,
    quirks: new Set(cluster.plan.deployment.quirks),
    context: { requestId: `req-${runtime.random.uuid()}` },
    print: (line: string) => void lines.push(line),
  };
  const flags = { force, dryRun: dice.chance(0.1), verbose: false };
  const command = runCommand(parts.print, () =>
    healAllocations(parts, instance === undefined ? flags : { ...flags, instance: String(instance.id) }),
  );
  // The operator presses Ctrl-C if the control plane does not respond.
  const code = await Promise.race([command, stage.runtime.timers.sleep(300_000)]);
  journal.note("operator", `heal_allocations ${JSON.stringify(flags)} -> ${code ?? "Ctrl-C"}: ${lines.at(-1) ?? ""}`);
  runtime.kill();
}
