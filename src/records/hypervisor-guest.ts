import { name, object, type RecordOf, text, uuid } from "./field.js";

/** A guest as its hypervisor has it, for people. */
const HYPERVISOR_GUEST = {
  /** That of the instance. */
  uuid,
  name: text(),
  /** `running`, `shut off`, `paused` … */
  state: name,
};

export const hypervisorGuest = object(HYPERVISOR_GUEST);

export type HypervisorGuest = RecordOf<typeof HYPERVISOR_GUEST>;
