import type { Migration, Server } from "../read/records.js";
import type { Reference, Subject } from "./finding.js";
import type { Facts } from "./inputs.js";

export const serverSubject = ({ id, name }: Server): Subject => ({ kind: "server", uuid: id, name });

export function migrationSubject(uuid: string, { id, type }: Migration): Subject {
  return {
    kind: "migration",
    uuid,
    name: `${type} ${id}`,
  };
}

export function providerSubject(facts: Facts, uuid: string): Subject {
  return {
    kind: "provider",
    ...reference(facts, uuid),
  };
}

export const reference = (facts: Facts, uuid: string): Reference => ({ uuid, name: facts.name(uuid) });
