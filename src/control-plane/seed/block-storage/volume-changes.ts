import type { Volume } from "../../block-storage/resources/volumes.js";
import { badRequest } from "../../http/http-error.js";
import { where } from "../../resources/condition.js";
import { fieldChanges, withoutDefaults } from "../change.js";
import { forKey } from "../database-copy.js";
import type { VolumeRecords } from "./volume-records.js";
import type { VolumeText } from "./volume-seed-schema.js";

const DEFAULT_OWNER = "admin";

const DEFAULTS = { description: "", bootable: false, metadata: {} } as const;

/** Deletes the file's volumes that it no longer has, with their snapshots. */
export function removeVolumes(records: VolumeRecords, desired: readonly VolumeText[]): void {
  for (const volume of records.volumesOfFile()) {
    const { name, project_id: projectId } = volume;
    const isDesired = desired.some(
      (text) => text.name === name && records.projects.idOf(text.project ?? DEFAULT_OWNER) === projectId,
    );
    if (!isDesired) {
      const label = labelOf(records, volume);
      forKey(`volumes: ${label} is not in the file, but cannot be deleted`, () => removeVolume(records, volume));
      records.report("-", label, true);
    }
  }
}

export function putVolumes(records: VolumeRecords, desired: readonly VolumeText[]): void {
  for (const [index, text] of desired.entries()) {
    forKey(`volumes.${index} (${text.name})`, () => putVolume(records, text));
  }
}

function labelOf({ projects }: VolumeRecords, { name, project_id: projectId }: Volume): string {
  return `volume ${name} of project ${projects.nameOf(projectId)}`;
}

function removeVolume(records: VolumeRecords, { id, project_id: projectId }: Volume): void {
  records.send(projectId, "DELETE", `/volumes/${id}?cascade=true`);
}

function putVolume(records: VolumeRecords, text: VolumeText): void {
  const found = findVolume(records, text);
  if (found === undefined) {
    const volume = createVolume(records, text);
    records.report("+", `${labelOf(records, volume)}: ${volume.size} GiB`);
    return;
  }
  const { name: _name, project: _project, ...others } = text;
  const current = fieldsOf(records, found);
  const { type, availability_zone } = current;
  const desired = { type, availability_zone, ...DEFAULTS, ...others };
  const descriptions = fieldChanges(current, desired);
  // A volume cannot shrink or leave its zone.
  const isReplaced = desired.size < found.size || desired.availability_zone !== availability_zone;
  if (isReplaced) {
    removeVolume(records, found);
    const { id } = createVolume(records, { ...text, ...specified(desired) });
    records.reportChanges(labelOf(records, found), id, descriptions, true);
    return;
  }
  if (descriptions.length > 0) {
    changeVolume(records, found, desired);
  }
  records.reportChanges(labelOf(records, found), found.id, descriptions);
}

/** Returns the project's volume with this name. Those of the file come first. @throws {HttpError} for several */
function findVolume(records: VolumeRecords, { name, project = DEFAULT_OWNER }: VolumeText): Volume | undefined {
  const named = records.volumes.find(where`project_id = ${records.projects.idOf(project)} AND name = ${name}`);
  const own = named.filter(({ id }) => records.isFromFile(id));
  const [found, ...others] = own.length === 0 ? named : own;
  if (others.length > 0) {
    throw badRequest(`project ${project} has several with this name; rename the others`);
  }
  return found;
}

/** @throws {HttpError} if no back end takes it */
function createVolume(records: VolumeRecords, text: VolumeText): Volume {
  const { project = DEFAULT_OWNER, type, bootable = false, ...attributes } = text;
  const projectId = records.projects.idOf(project);
  const volume = { ...attributes, ...(type !== undefined && { volume_type: type }) };
  const id = String(records.send(projectId, "POST", "/volumes", { volume }).id);
  const created = records.volumes.get(id);
  if (created?.status !== "available") {
    throw badRequest("no back end of its type and zone has enough capacity");
  }
  if (bootable) {
    records.send(projectId, "POST", `/volumes/${id}/action`, { "os-set_bootable": { bootable } });
  }
  records.markAsFromFile(id);
  return created;
}

type Fields = ReturnType<typeof fieldsOf>;

/** Returns the fields of a new volume: those that are undefined have the defaults of the cloud. */
function specified({ type, availability_zone, ...fields }: Fields): Omit<VolumeText, "name"> {
  return {
    ...fields,
    ...(type !== undefined && { type }),
    ...(availability_zone !== undefined && { availability_zone }),
  };
}

function changeVolume(records: VolumeRecords, { id, project_id: owner, ...current }: Volume, desired: Fields): void {
  const { size, type, bootable, description, metadata } = desired;
  const act = (name: string, input: Readonly<Record<string, unknown>>) =>
    records.send(owner, "POST", `/volumes/${id}/action`, { [name]: input });
  records.send(owner, "PUT", `/volumes/${id}`, { volume: { description, metadata } });
  if (bootable !== current.bootable) {
    act("os-set_bootable", { bootable });
  }
  if (type !== undefined && records.typeNamed(type)?.id !== current.volume_type_id) {
    act("os-retype", { new_type: type, migration_policy: "on-demand" });
  }
  if (size > current.size) {
    act("os-extend", { new_size: size });
  }
  const after = records.volumes.get(id);
  const isRetyped = type === undefined || records.typeNamed(type)?.id === after?.volume_type_id;
  if (!isRetyped || after?.size !== size) {
    throw badRequest("no back end of its type and zone has enough capacity");
  }
}

/** Returns the fields of a volume, as a file has them. */
function fieldsOf(records: VolumeRecords, volume: Volume) {
  const { size, description, bootable, metadata, availability_zone: zone, volume_type_id: typeId } = volume;
  const type = typeId === null ? undefined : records.types.get(typeId)?.name;
  return { size, type, availability_zone: zone ?? undefined, description: description ?? "", bootable, metadata };
}

export function exportVolumes(records: VolumeRecords): VolumeText[] {
  return records.volumesOfFile().map((volume) => {
    const owner = records.projects.nameOf(volume.project_id);
    return {
      name: volume.name ?? "",
      ...(owner === DEFAULT_OWNER ? {} : { project: owner }),
      ...(withoutDefaults(fieldsOf(records, volume), DEFAULTS) as Omit<VolumeText, "name">),
    };
  });
}
