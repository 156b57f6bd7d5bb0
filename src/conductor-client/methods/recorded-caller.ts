import { flag, listOf, name, nullable, object, type RecordOf, text } from "../../records/field.js";

const named = { id: name, name };
const domain = object(named);
const inDomain = object({ ...named, domain });

/** Most of a kind that somebody has: far more than anybody does. */
const MAX_ITEMS = 1_000;

/** A caller without any secret: what another cluster needs to let the same user ask the same. */
export const recordedCaller = object({
  user: inDomain,
  /** What their token counts for: at most one of the three. */
  project: nullable(inDomain),
  domain: nullable(domain),
  system: flag,
  /** Names of the roles that it has there. */
  roles: listOf(name, MAX_ITEMS),
  /** What it was got with, if not with a password. */
  applicationCredential: nullable(
    object({
      ...named,
      unrestricted: flag,
      accessRules: listOf(object({ service: text(), method: text(), path: text() }), MAX_ITEMS),
    }),
  ),
});

export type RecordedCaller = RecordOf<{ readonly caller: typeof recordedCaller }>["caller"];

/** Somebody of another cluster in this one. */
export interface StandIn {
  /** Null: they may have none, as of a user who is disabled here. */
  readonly token: string | null;
  /** The same people and things with the ids that they have here. */
  readonly caller: RecordedCaller;
  /** What was not there, and was made for it. */
  readonly made: readonly string[];
}

const DEFAULT_DOMAIN = { id: "default", name: "Default" };

/** The administrator of every cluster. @param project by its name */
export function administratorIn(project: string): RecordedCaller {
  return {
    user: { id: "admin", name: "admin", domain: DEFAULT_DOMAIN },
    project: { id: project, name: project, domain: DEFAULT_DOMAIN },
    domain: null,
    system: false,
    roles: ["admin"],
    applicationCredential: null,
  };
}
