import type { VolumeType } from "../../block-storage/resources/types.js";
import { fieldChanges, withoutDefaults } from "../change.js";
import { forKey } from "../database-copy.js";
import type { VolumeRecords } from "./volume-records.js";
import type { VolumeTypeText } from "./volume-seed-schema.js";

const DEFAULTS = { description: "", is_public: true, access: [], extra_specs: {} } as const;

/** Deletes the file's types that it no longer has. */
export function removeTypes(records: VolumeRecords, desired: readonly VolumeTypeText[]): void {
  for (const { id, name } of records.typesOfFile()) {
    if (!desired.some((text) => text.name === name)) {
      forKey(`volume_types: type ${name} is not in the file, but cannot be deleted`, () =>
        records.send(ownerOfTypes(records), "DELETE", `/types/${id}`),
      );
      records.report("-", `volume type ${name}`, true);
    }
  }
}

export function putTypes(records: VolumeRecords, desired: readonly VolumeTypeText[]): void {
  for (const [index, text] of desired.entries()) {
    forKey(`volume_types.${index} (${text.name})`, () => putType(records, text));
  }
}

/** Types have no owner; administrators of this project change them. */
const ownerOfTypes = ({ projects }: VolumeRecords): string => projects.idOf("admin");

function putType(records: VolumeRecords, { name, ...text }: VolumeTypeText): void {
  const desired = { ...DEFAULTS, ...text, access: [...(text.access ?? [])].sort() };
  const found = records.typeNamed(name);
  const owner = ownerOfTypes(records);
  if (found === undefined) {
    const { description, is_public: isPublic, extra_specs } = desired;
    const attributes = { name, description, "os-volume-type-access:is_public": isPublic, extra_specs };
    const { id } = records.send(owner, "POST", "/types", { volume_type: attributes });
    setAccess(records, String(id), [], desired.access);
    records.markAsFromFile(String(id));
    records.report("+", `volume type ${name}`);
    return;
  }
  const { id } = found;
  const current = fieldsOf(records, found);
  const descriptions = fieldChanges(current, desired);
  if (descriptions.length > 0) {
    const { description, is_public, extra_specs } = desired;
    records.send(owner, "PUT", `/types/${id}`, { volume_type: { description, is_public } });
    const obsolete = Object.keys(current.extra_specs).filter((key) => !Object.hasOwn(extra_specs, key));
    for (const key of obsolete) {
      records.send(owner, "DELETE", `/types/${id}/extra_specs/${encodeURIComponent(key)}`);
    }
    records.send(owner, "POST", `/types/${id}/extra_specs`, { extra_specs });
    setAccess(records, id, current.access, desired.access);
  }
  records.reportChanges(`volume type ${name}`, id, descriptions);
}

function setAccess(records: VolumeRecords, id: string, current: readonly string[], desired: readonly string[]): void {
  const send = (action: string, name: string) =>
    records.send(ownerOfTypes(records), "POST", `/types/${id}/action`, {
      [action]: { project: records.projects.idOf(name) },
    });
  for (const name of current.filter((one) => !desired.includes(one))) {
    send("removeProjectAccess", name);
  }
  for (const name of desired.filter((one) => !current.includes(one))) {
    send("addProjectAccess", name);
  }
}

/** Returns the fields of a type, as a file has them. */
function fieldsOf(records: VolumeRecords, { description, is_public, extra_specs, projects }: VolumeType) {
  const access = projects.map((id) => records.projects.nameOf(id)).sort();
  return { description: description ?? "", is_public, access, extra_specs };
}

export function exportTypes(records: VolumeRecords): VolumeTypeText[] {
  return records.typesOfFile().map((type) => ({
    name: type.name,
    ...(withoutDefaults(fieldsOf(records, type), DEFAULTS) as Omit<VolumeTypeText, "name">),
  }));
}
