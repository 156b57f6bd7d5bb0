import { id, integer, name, oneOf, type RecordOf, text, time, uuid } from "./field.js";

export const SERVER_GROUP_POLICIES = ["affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"] as const;
export type ServerGroupPolicy = (typeof SERVER_GROUP_POLICIES)[number];

/** A row of `server_groups` (spec 6.9). */
export const SERVER_GROUP = {
  id,
  uuid,
  projectId: text(),
  userId: text(),
  name,
  policy: oneOf(SERVER_GROUP_POLICIES),
  /** Members that anti-affinity lets a host have; 0: the request named no number, which is one. */
  maxServerPerHost: integer(0, Number.MAX_SAFE_INTEGER),
  createdAt: time,
};

export type ServerGroup = RecordOf<typeof SERVER_GROUP>;

/** How many members of an anti-affinity group a host may have. */
export function mostMembersOnHost({ maxServerPerHost }: Pick<ServerGroup, "maxServerPerHost">): number {
  return Math.max(1, maxServerPerHost);
}
