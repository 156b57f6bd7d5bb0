import type { AgentView } from "../context.js";
import { ConfigRejectedError } from "./rejections.js";

/**
 * Spec 2.2 step 3 for a host without a service row: a hypervisor that has guests is not new, so that the database is the
 * wrong one, or an emptied one, or the service was deleted under living guests (spec 2.4 G9, G10).
 * @throws {ConfigRejectedError}
 */
export async function checkNewHost(view: AgentView): Promise<void> {
  const guests = await view.driver.listInstanceUuids();
  if (guests.length === 0) {
    return;
  }
  const guestList = guests.slice(0, 5).join(", ");
  throw new ConfigRejectedError("guests-on-new-host", {
    found: `My hypervisor has existing instances, but I appear to be a new service in this database: host ${view.host} has no nova-compute service on record, and its hypervisor ${guests.length} guest${guests.length === 1 ? "" : "s"}: ${guestList}${guests.length > 5 ? ", …" : ""}`,
    hint: "check that --conductor leads to the right control plane and that --host is spelled as before; if the service was deleted on purpose, remove the guests from the hypervisor first",
    records: { service: "absent", guests: String(guests.length) },
  });
}
