import { Dice } from "../chaos/dice.js";
import type { ConfigChanges } from "../fixtures/world/nova-config.js";
import type { Plan } from "./plan.js";

/** The slow driver methods, each with its share of the longest delay. */
const WORK: Readonly<Record<string, number>> = {
  delay_spawn: 0.5,
  delay_destroy: 0.2,
  delay_power_on: 0.1,
  delay_power_off: 0.1,
  delay_reboot: 0.1,
  delay_snapshot: 0.3,
  delay_migrate_disk: 0.4,
  delay_finish_migration: 0.4,
  delay_confirm_migration: 0.2,
  delay_revert_migration: 0.2,
  delay_pre_live_migration: 0.2,
  delay_live_migration: 1,
};

/** Returns nova.conf of a host; the delays differ on each host. */
export function hostOptions({ seed, deployment }: Plan, index: number): ConfigChanges {
  const dice = new Dice(`host/${seed}/${index}`);
  const { hosts, sharing, slow, leanTracking, resumeGuests, shelvedOffloadTime, sameHostResize, reclaimInterval } =
    deployment;
  const delays = Object.entries(WORK).map(([option, share]) => [option, dice.between(0, slow * share * 10) / 10]);
  return {
    quirks: deployment.quirks,
    defaults: {
      periodic_enable: true,
      periodic_fuzzy_delay: dice.between(0, 10),
      report_interval: 10,
      update_resources_interval: dice.pick([0, 30]) ?? 0,
      sync_power_state_interval: dice.pick([30, 600]) ?? 30,
      running_deleted_instance_poll_interval: 60,
      instance_delete_interval: 60,
      shelved_poll_interval: 60,
      shelved_offload_time: shelvedOffloadTime,
      allow_resize_to_same_host: sameHostResize,
      reclaim_instance_interval: reclaimInterval,
      resize_confirm_window: deployment.confirmWindow ?? 0,
      resume_guests_state_on_host_boot: resumeGuests,
      max_concurrent_live_migrations: dice.between(1, 2),
    },
    sections: {
      workarounds: { disable_compute_service_check_for_ffu: true },
      compute: {
        reconcile_allocations: deployment.repairs ? "repair" : "off",
        reconcile_interval: 60,
        lean_tracking: leanTracking,
      },
      fake_libvirt: {
        connection_uri: `fake-libvirt:///hypervisors/devstack${index + 1}`,
        ...(index >= hosts - sharing ? { instances_path: "/hypervisors/shared" } : {}),
        ...Object.fromEntries(delays),
      },
    },
  };
}
