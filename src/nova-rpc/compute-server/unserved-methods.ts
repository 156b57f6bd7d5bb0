import { NotImplementedHere } from "../messages/failures.js";
import type { Arguments } from "./parameters.js";

/** The API tells it from others. */
class ConsoleTypeUnavailable extends Error {
  override readonly name = "ConsoleTypeUnavailable";
}

/** Answers to what the agent does not do. Every call has one: without, the API would answer 500 to everybody. */
export const UNSERVED: Readonly<Record<string, (args: Arguments) => unknown>> = {
  host_power_action: notImplemented,
  host_maintenance_mode: notImplemented,
  get_vnc_console: noConsole,
  get_spice_console: noConsole,
  get_serial_console: noConsole,
  get_mks_console: noConsole,
  get_rdp_console: noConsole,
  validate_console_port: notImplemented,
  cache_images: ({ image_ids: ids }) =>
    Object.fromEntries((Array.isArray(ids) ? ids : []).map((id) => [String(id), "unsupported"])),
  reserve_block_device_name: notImplemented,
  attach_interface: notImplemented,
  add_fixed_ip_to_instance: notImplemented,
  remove_fixed_ip_from_instance: notImplemented,
  quiesce_instance: notImplemented,
  prep_snapshot_based_resize_at_dest: notImplemented,
  prep_snapshot_based_resize_at_source: notImplemented,
  finish_snapshot_based_resize_at_dest: notImplemented,
  confirm_snapshot_based_resize_at_source: notImplemented,
  revert_snapshot_based_resize_at_dest: notImplemented,
  finish_revert_snapshot_based_resize_at_source: notImplemented,
  // Casts: nobody waits, and there is nothing to do for them.
  inject_network_info: ignored,
  reset_network: ignored,
  trigger_crash_dump: ignored,
  change_instance_metadata: ignored,
  refresh_instance_security_rules: ignored,
};

function notImplemented(): never {
  throw new NotImplementedHere("this driver does not do that");
}

function noConsole({ console_type: type }: Arguments): never {
  const typeSuffix = typeof type === "string" && /^[a-z-]{1,20}$/.test(type) ? ` ${type}` : "";
  throw new ConsoleTypeUnavailable(`Unavailable console type${typeSuffix}.`);
}

function ignored(): null {
  return null;
}
