import { POWER_STATES, type PowerState } from "../../records/index.js";
import type { LifecycleEvent, LifecycleTransition } from "../../virt/events.js";
import type { AgentParts } from "../parts.js";

/** What a transition says about the guest (spec 8.5). */
const IMPLIED_POWER: Readonly<Record<LifecycleTransition, PowerState>> = {
  started: POWER_STATES.running,
  resumed: POWER_STATES.running,
  stopped: POWER_STATES.shutdown,
  paused: POWER_STATES.paused,
  suspended: POWER_STATES.suspended,
  postcopy_started: POWER_STATES.paused,
  migration_completed: POWER_STATES.paused,
};

/** Passes the driver's events of its guests on to power-state sync (`[workarounds] handle_virt_lifecycle_events`). */
export function registerLifecycleListener(parts: AgentParts): void {
  if (!parts.config.workarounds.handleVirtLifecycleEvents) {
    parts.logger.warn("lifecycle events of guests are ignored: [workarounds] handle_virt_lifecycle_events is off");
    return;
  }
  parts.driver.setLifecycleListener((event) => {
    handle(parts, event).catch((error: unknown) => {
      parts.logger.error("a lifecycle event could not be handled", { instance: event.uuid, err: error });
    });
  });
}

async function handle(parts: AgentParts, event: LifecycleEvent): Promise<void> {
  const { uuid, transition } = event;
  const instance = await parts.conductor.call("instance_get", { uuid, readDeleted: true });
  if (instance === null) {
    return;
  }
  if (transition === "migration_completed" || transition === "postcopy_started") {
    await warnWithoutMigration(parts, uuid, transition);
  }
  if (transition === "postcopy_started") {
    await parts.operations.outgoing.postCopyStarted(uuid);
  }
  // The event may be old news: a reboot looks like a stop, until one asks.
  if ((await parts.driver.powerState(instance)) === IMPLIED_POWER[transition]) {
    parts.logger.info(`guest ${transition}`, { instance: uuid });
    await parts.operations.syncInstancePowerState(instance);
  }
}

async function warnWithoutMigration(
  parts: AgentParts,
  uuid: string,
  transition: "migration_completed" | "postcopy_started",
): Promise<void> {
  const migrations = await parts.conductor.call("migrations_by_filters", {
    filters: {
      instanceUuid: uuid,
      migrationTypes: ["live-migration"],
      statuses: ["running", "running (post-copy)"],
    },
  });
  if (migrations.length === 0) {
    parts.logger.warn(`the driver says ${transition}, but no migration of the instance is running`, { instance: uuid });
  }
}
