import type { Migration, Server } from "../read/records.js";
import type { Reference, Subject } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";

export const serverSubject = ({ id, name }: Server): Subject => ({ kind: "server", uuid: id, name });

export function migrationSubject(uuid: string, { id, type }: Migration): Subject {
  return {
    kind: "migration",
    uuid,
    name: `${type} ${id}`,
  };
}

export function providerSubject(index: SnapshotIndex, uuid: string): Subject {
  return {
    kind: "provider",
    ...reference(index, uuid),
  };
}

export const reference = (index: SnapshotIndex, uuid: string): Reference => ({ uuid, name: index.name(uuid) });
