import type { BlockStorageOptions } from "../../block-storage/block-storage-options.js";
import type { Sql } from "../../database/sql.js";
import type { SeedStep } from "../change.js";
import type { ProjectNames } from "../seed-users.js";
import { exportTypes, putTypes, removeTypes } from "./type-changes.js";
import { exportVolumes, putVolumes, removeVolumes } from "./volume-changes.js";
import { VolumeRecords, type VolumeRuntime, withVolumeCopy } from "./volume-records.js";
import type { VolumeSeed } from "./volume-seed-schema.js";

export interface VolumeSeedParts {
  readonly sql: Sql;
  readonly runtime: VolumeRuntime;
  readonly projects: ProjectNames;
  /** The section `[block_storage]` of the control plane. */
  readonly options: Partial<BlockStorageOptions>;
}

/**
 * Returns the changes after which the file's volume types and volumes exist. All of them are tried on a copy, so that a
 * change that the Block Storage service rejects is found before anything changes.
 * @throws {ClusterError} `SeedRefused`
 */
export function volumeSteps({ sql, runtime, projects, options }: VolumeSeedParts, seed: VolumeSeed): SeedStep[] {
  const applyTo = (database: Sql) => applyVolumes(new VolumeRecords(database, runtime, projects, options), seed);
  const { changes } = withVolumeCopy(sql, applyTo);
  // The changes depend on each other, so the first step makes them all.
  const apply = () => void applyTo(sql);
  return changes.map((change, index) => ({ ...change, apply: index === 0 ? apply : () => {} }));
}

/** Makes the records match the file. Types are there before their volumes, and are removed after them. */
function applyVolumes(records: VolumeRecords, { types, volumes }: VolumeSeed): VolumeRecords {
  if (volumes !== undefined) {
    removeVolumes(records, volumes);
  }
  if (types !== undefined) {
    putTypes(records, types);
  }
  if (volumes !== undefined) {
    putVolumes(records, volumes);
  }
  if (types !== undefined) {
    removeTypes(records, types);
  }
  return records;
}

/** Returns the records of the file in its form; kinds without any are absent. */
export function exportVolumeSeed({ sql, runtime, projects, options }: VolumeSeedParts) {
  const hasAny = sql.get("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'block_storage_from_file'");
  if (hasAny === undefined || sql.get("SELECT 1 FROM block_storage_from_file LIMIT 1") === undefined) {
    return {};
  }
  return withVolumeCopy(sql, (copy) => {
    const records = new VolumeRecords(copy, runtime, projects, options);
    const sections = { volume_types: exportTypes(records), volumes: exportVolumes(records) };
    return Object.fromEntries(Object.entries(sections).filter(([, list]) => list.length > 0)) as Partial<
      typeof sections
    >;
  });
}
