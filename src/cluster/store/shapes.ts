import type { AssignedResource, Flavor, MigrationContext } from "../../conductor/records/index.js";
import * as check from "./check.js";

/** Largest value of Nova's integer columns. */
export const MOST = 2 ** 31 - 1;

const amount = check.integer(0, MOST);

export const flavorShape = check.shape<Flavor>({
  id: check.integer(0),
  flavorid: check.text(),
  name: check.text(),
  vcpus: amount,
  memoryMb: amount,
  rootGb: amount,
  ephemeralGb: amount,
  swap: amount,
  rxtxFactor: check.ratio,
  disabled: check.flag,
  isPublic: check.flag,
  extraSpecs: check.mapOf(check.text()),
  description: check.nullable(check.text(65_535)),
});

const assigned = check.listOf(
  check.shape<AssignedResource>({
    providerUuid: check.uuid,
    resourceClass: check.text(),
    identifier: check.text(),
  }),
);

export const migrationContextShape = check.shape<MigrationContext>({
  instanceUuid: check.uuid,
  migrationId: check.integer(0),
  oldNumaTopology: check.nullable(check.text(65_535)),
  newNumaTopology: check.nullable(check.text(65_535)),
  oldPciDevices: check.listOf(check.text()),
  newPciDevices: check.listOf(check.text()),
  oldResources: assigned,
  newResources: assigned,
});

export const textMap = check.mapOf(check.text(65_535));
