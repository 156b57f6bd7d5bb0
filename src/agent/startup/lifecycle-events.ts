import { POWER_STATES, type PowerState } from "../../records/index.js";
import type { LifecycleEvent, LifecycleTransition } from "../../virt/context.js";
import type { AgentServices } from "../services.js";

/** The guest's power state after a transition (spec 8.5). */
const IMPLIED_POWER: Readonly<Record<LifecycleTransition, PowerState>> = {
  started: POWER_STATES.running,
  resumed: POWER_STATES.running,
  stopped: POWER_STATES.shutdown,
  paused: POWER_STATES.paused,
  suspended: POWER_STATES.suspended,
  postcopy_started: POWER_STATES.paused,
  migration_completed: POWER_STATES.paused,
};

/**
 * Passes the driver's guest events to the power-state sync (`[workarounds] handle_virt_lifecycle_events`), and notifies
 * the viewers of the guest list.
 */
export function registerLifecycleListener(services: AgentServices): void {
  const { handleVirtLifecycleEvents: isHandled } = services.config.workarounds;
  if (!isHandled) {
    services.logger.warn("lifecycle events of guests are ignored: [workarounds] handle_virt_lifecycle_events is off");
  }
  services.driver.setLifecycleListener((event) => {
    services.conductor.guestsChanged?.();
    if (!isHandled) {
      return;
    }
    handle(services, event).catch((error: unknown) => {
      services.logger.error("a lifecycle event could not be handled", { instance: event.uuid, err: error });
    });
  });
}

async function handle(services: AgentServices, event: LifecycleEvent): Promise<void> {
  const { uuid, transition } = event;
  const { outgoing, incoming } = services.operations;
  // A move saves the power state of its guest itself.
  if (outgoing.has(uuid) || incoming.has(uuid)) {
    if (transition === "postcopy_started") {
      await outgoing.postCopyStarted(uuid);
    }
    return;
  }
  const instance = await services.conductor.call("instance_get", { uuid, readDeleted: true });
  if (instance === null) {
    return;
  }
  if (transition === "migration_completed" || transition === "postcopy_started") {
    await warnWithoutMigration(services, uuid, transition);
  }
  // The event may be outdated: until the driver is polled, a reboot is indistinguishable from a stop.
  if ((await services.driver.powerState(instance)) === IMPLIED_POWER[transition]) {
    services.logger.info(`guest ${transition}`, { instance: uuid });
    await services.operations.syncInstancePowerState(instance);
  }
}

async function warnWithoutMigration(
  services: AgentServices,
  uuid: string,
  transition: "migration_completed" | "postcopy_started",
): Promise<void> {
  const migrations = await services.conductor.call("migrations_by_filters", {
    filters: {
      instanceUuid: uuid,
      migrationTypes: ["live-migration"],
      statuses: ["running", "running (post-copy)"],
    },
  });
  if (migrations.length === 0) {
    services.logger.warn(`the driver reports ${transition}, but no migration of the instance is running`, {
      instance: uuid,
    });
  }
}
