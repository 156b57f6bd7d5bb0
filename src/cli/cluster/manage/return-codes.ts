/** What `--help` says at its end. */
const NO_CONTROL_PLANE = `

Without a control plane that responds, the code is 4, as for every command, and the reason is on standard error.`;

export const HEAL_RETURN_CODES = `
Return codes:
  0    allocations were created or updated
  1    --max-count was reached
  2    the compute node of an instance was not found
  3    allocations could not be written, or Placement not reached
  4    nothing was healed
  8    an instance with vGPU or Cyborg resources cannot be healed
  127  invalid input
  255  something unexpected${NO_CONTROL_PLANE}`;

export const AUDIT_RETURN_CODES = `
Return codes:
  0    no orphaned allocations
  1    some could not be deleted
  3    orphaned allocations were found
  4    orphaned allocations were found and deleted
  127  invalid input
  255  something unexpected${NO_CONTROL_PLANE}`;

export const SYNC_RETURN_CODES = `
Return codes:
  0    done
  1    a host has more than one compute node
  2    a provider's aggregates could not be read
  3    a provider's aggregates could not be written
  4    hosts of aggregates are mapped to no cell
  5    hosts of aggregates have no compute node
  6    hosts of aggregates have no resource provider
  255  something unexpected${NO_CONTROL_PLANE}`;
