import type { ComputeNode } from "../../records/index.js";
import type { AgentView } from "../context.js";
import { type EvacuationPlan, planEvacuatedCleanup } from "../evacuation/plan.js";
import { findRunningDeleted } from "../periodic/instance-deletes.js";
import { toStartupRejection } from "../rejections.js";
import { guardRecordedDriver } from "../startup/driver-binding.js";
import { type Ownership, proveOwnership } from "../startup/init-host.js";
import { findInterruptedBuilds } from "../startup/interrupted-builds.js";
import { findInterruptedEvacuations } from "../startup/interrupted-evacuations.js";
import { driverNodes, validateConfig } from "../startup/ownership-checks.js";
import { lookUpService } from "../startup/register-service.js";
import { loadProviderConfigs } from "../tracker/provider-config.js";
import { compareProviders } from "../tracker/provider-names.js";
import { type Preview, previewInit, previewStrip } from "./preview-instance.js";
import { createReadOnlyView, type ReadOnlyViewOptions } from "./read-only-view.js";
import type { DryRunReport } from "./report.js";

export interface DryRunOptions extends ReadOnlyViewOptions {
  /** The service version that the agent would report; absent: this build's. */
  readonly serviceVersion?: number | undefined;
}

/**
 * Reports what a start of this agent would destroy, edit and complete. Takes no lease and writes no row or file. The
 * plans are those that a start runs. If another agent has the host's lease, the report names it.
 * @throws any error that prevents reading: an unreachable conductor or Placement, a broken driver
 */
export async function dryRun(options: DryRunOptions): Promise<DryRunReport> {
  const { serviceVersion } = options;
  const view = await createReadOnlyView(options);
  const lease = await view.conductor.call("host_lease_holder", { host: view.host });
  const preview: Preview = { guests: [], allocations: [], instances: [], migrations: [] };
  try {
    const service = await lookUpService(view, serviceVersion);
    validateConfig(view);
    await loadProviderConfigs(view.config.compute.providerConfigLocation, view.runtime);
    await guardRecordedDriver(view);
    await view.driver.initHost();
    await previewStart(view, await proveOwnership(view, service), preview);
    const { conflicts } = await compareProviders(view, (await driverNodes(view)) ?? new Map<string, string>());
    return { host: view.host, rejection: null, lease, providerConflicts: conflicts, ...preview };
  } catch (error) {
    const rejection = toStartupRejection(error);
    if (rejection === null) {
      throw error;
    }
    const nothing = { providerConflicts: [], guests: [], allocations: [], instances: [], migrations: [] };
    return { host: view.host, rejection: rejection, lease, ...nothing };
  } finally {
    await view.driver.cleanupHost().catch((error: unknown) => {
      view.logger.debug("the driver could not disconnect from the hypervisor", { err: error });
    });
  }
}

async function previewStart(view: AgentView, { nodes, proved }: Ownership, preview: Preview): Promise<void> {
  const loaded = await view.conductor.call("instances_by_host", { host: view.host });
  const evacuated = new Set<string>();
  if (view.driver.capabilities.supportsEvacuate) {
    const plan = await planEvacuatedCleanup(view, nodes.values());
    if (proved) {
      await previewEvacuations(view, plan, preview);
      await previewInterruptedEvacuations(view, nodes.values(), preview);
    }
    for (const uuid of plan.evacuated.keys()) {
      evacuated.add(uuid);
    }
  }
  const own = loaded.filter(({ uuid }) => !evacuated.has(uuid));
  for (const instance of await view.driver.processInstancesAtStartup(own)) {
    await previewInit(view, instance, preview);
  }
  const handled = new Set([...loaded.map(({ uuid }) => uuid), ...evacuated]);
  for (const { uuid, displayName } of await findInterruptedBuilds(view, nodes.values(), handled)) {
    preview.instances.push({
      instance: uuid,
      name: displayName,
      reason: "interrupted build",
      action: null,
      changes: { vmState: "error", taskState: null },
    });
  }
  await previewRunningDeleted(view, preview);
}

async function previewEvacuations(view: AgentView, plan: EvacuationPlan, preview: Preview): Promise<void> {
  for (const { instance, action, disks, reason } of plan.guests) {
    preview.guests.push({
      instance: instance.uuid,
      name: instance.displayName,
      action,
      reason,
      disks: action === "stop" ? null : disks.disks,
      disksReason: action === "stop" ? "" : disks.reason,
    });
  }
  for (const { migration, action, node, reason } of plan.records) {
    if (action === "strip" && node) {
      preview.allocations.push(...(await previewStrip(view, migration.instanceUuid, node, reason)));
    }
    preview.migrations.push({
      migration: migration.id,
      instance: migration.instanceUuid,
      from: migration.status,
      to: action === "strip" || action === "complete" ? "completed" : migration.status,
      reason,
    });
  }
}

async function previewInterruptedEvacuations(
  view: AgentView,
  nodes: Iterable<ComputeNode>,
  preview: Preview,
): Promise<void> {
  const reason = "an evacuation to this host was interrupted";
  for (const found of await findInterruptedEvacuations(view, nodes)) {
    const { migration, instance, node, changes, claimed, arrived } = found;
    const { uuid } = instance;
    if (arrived) {
      preview.migrations.push({ migration: migration.id, instance: uuid, from: migration.status, to: "done", reason });
      continue;
    }
    if (claimed && (await view.driver.instanceExists(instance))) {
      preview.guests.push({
        instance: uuid,
        name: instance.displayName,
        action: "destroy",
        reason,
        disks: "keep",
        disksReason: "they may be the source's, on shared storage",
      });
    }
    preview.allocations.push(...(await previewStrip(view, uuid, node, reason)));
    preview.migrations.push({ migration: migration.id, instance: uuid, from: migration.status, to: "failed", reason });
    preview.instances.push({
      instance: uuid,
      name: instance.displayName,
      reason,
      action: null,
      changes,
    });
  }
}

/** Previews the first periodic round, which follows the start immediately. */
async function previewRunningDeleted(view: AgentView, preview: Preview): Promise<void> {
  const action = view.config.defaults.runningDeletedInstanceAction;
  if (!view.config.defaults.periodicEnable || (action !== "reap" && action !== "shutdown")) {
    return;
  }
  const listed = new Set(preview.guests.map(({ instance }) => instance));
  for (const { uuid, displayName } of await findRunningDeleted(view)) {
    if (!listed.has(uuid)) {
      preview.guests.push({
        instance: uuid,
        name: displayName,
        action: action === "reap" ? "destroy" : "stop",
        reason: `the instance is deleted (running_deleted_instance_action = ${action})`,
        disks: action === "reap" ? "destroy" : null,
        disksReason: action === "reap" ? "the instance is deleted" : "",
      });
    }
  }
}
