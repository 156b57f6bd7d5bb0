import { badRequest } from "../../http/http-error.js";
import type { NetworkAttributeMap, NetworkResource } from "../../network/engine/network-resource.js";
import { viewsOf } from "../../network/engine/records.js";
import { type Condition, where } from "../../resources/condition.js";
import { type Change, fieldChanges } from "../change.js";
import type { ProjectNames } from "../seed-users.js";
import type { NetworkRecords } from "./network-records.js";

/** A record as the Network API shows it. */
export type View = Readonly<Record<string, unknown>> & { readonly id: string };

/** The owner of an object without a project. */
export const DEFAULT_OWNER = "admin";

/** An object of a file. */
export interface Named {
  readonly name: string;
  readonly project?: string | undefined;
}

/** Makes the records of the Network service match a file, and collects the changes. */
export class SeedEdit {
  readonly records: NetworkRecords;
  readonly projects: ProjectNames;
  /** Whether the file lists its routers, so that they may be disconnected from subnets. */
  readonly hasRouters: boolean;
  readonly changes: Change[] = [];

  constructor(records: NetworkRecords, projects: ProjectNames, hasRouters = false) {
    this.records = records;
    this.projects = projects;
    this.hasRouters = hasRouters;
  }

  report(sign: Change["sign"], text: string, destroys = false): void {
    this.changes.push({ sign, text, destroys });
  }

  views<M extends NetworkAttributeMap>(resource: NetworkResource<M>, condition: Condition): readonly View[] {
    const { context } = this.records;
    const records = context.table(resource).find(condition);
    return viewsOf(context, resource as unknown as NetworkResource, records) as readonly View[];
  }

  /** Returns the records of a kind that belong to the file. */
  fromFile<M extends NetworkAttributeMap>(resource: NetworkResource<M>): readonly View[] {
    return this.views(resource, where`id IN (SELECT id FROM network_from_file)`);
  }

  /** Returns the record of a project with a name. Records of the file come first. @throws {HttpError} for several */
  find<M extends NetworkAttributeMap>(
    resource: NetworkResource<M>,
    { name, project = DEFAULT_OWNER }: Named,
  ): View | undefined {
    const named = this.views(resource, where`project_id = ${this.projects.idOf(project)} AND name = ${name}`);
    const own = named.filter(({ id }) => this.records.isFromFile(id));
    return only(own.length === 0 ? named : own, `project ${project} has several with this name; rename the others`);
  }

  /** Returns whether a list of the file has the record. */
  includes(descriptions: readonly Named[], { name, project_id: projectId }: View): boolean {
    return descriptions.some(
      (text) => text.name === name && this.projects.idOf(text.project ?? DEFAULT_OWNER) === projectId,
    );
  }

  /** Returns the label of a record: `network web of project demo`. */
  label(kind: string, { name, project_id: projectId }: View): string {
    return `${kind} ${name} of project ${this.projects.nameOf(String(projectId))}`;
  }

  /** Reports a changed record, which belongs to the file from now on. */
  reportChanges(label: string, id: string, changes: readonly string[]): void {
    if (changes.length > 0) {
      this.report("~", `${label}: ${changes.join(", ")}`);
    } else if (!this.records.isFromFile(id)) {
      this.report("~", `${label}: belongs to the file`);
    }
    this.records.markAsFromFile(id);
  }

  /** Returns `project`, unless it is the default. */
  ownerOf({ project_id: projectId }: View): { readonly project?: string } {
    const name = this.projects.nameOf(String(projectId));
    return name === DEFAULT_OWNER ? {} : { project: name };
  }
}

/** @throws {HttpError} if there are several */
export function only<T>(values: readonly T[], problem: string): T | undefined {
  if (values.length > 1) {
    throw badRequest(problem);
  }
  return values[0];
}

/** @throws {HttpError} if there is none */
export function required<T>(value: T | undefined, problem: string): T {
  if (value === undefined) {
    throw badRequest(problem);
  }
  return value;
}

/** Attributes of the API by the keys of a file; others have the same name. */
export type Keys = Readonly<Record<string, string>>;

type Fields = Readonly<Record<string, unknown>>;

/** Returns the fields that differ from those of a record, and their descriptions. */
export function differences(view: Fields, fields: Fields, keys: Keys = {}) {
  const now = Object.fromEntries(Object.keys(fields).map((key) => [key, view[keys[key] ?? key]]));
  const changed = Object.entries(fields).filter(
    ([name, value]) => fieldChanges({ value: now[name] }, { value }).length > 0,
  );
  return { changed: Object.fromEntries(changed), descriptions: fieldChanges(now, fields) };
}

/** Returns the attributes of a request. */
export function toAttributes(fields: Fields, keys: Keys): Fields {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [keys[key] ?? key, value]));
}
