import type { Dice } from "../chaos/dice.js";
import { act, type Stage } from "./actors.js";
import { METADATA_KEYS } from "./histories/witness.js";
import { allServers } from "./tenant.js";

interface Label {
  readonly name: string;
  readonly method: "POST" | "PUT" | "DELETE";
  /** A path below the server's. */
  readonly path: string;
  readonly body?: unknown;
}

/** Changes of a server's attributes that do not involve an agent. */
const LABELS: readonly ((dice: Dice) => Label)[] = [
  (dice) => ({ name: "rename", method: "PUT", path: "", body: { server: { name: `renamed-${dice.between(1, 99)}` } } }),
  (dice) => ({ name: "tag", method: "PUT", path: "/tags", body: { tags: [`tag-${dice.between(1, 9)}`, "all"] } }),
  (dice) => ({
    name: "set metadata",
    method: "POST",
    path: "/metadata",
    body: { metadata: { [dice.pick(METADATA_KEYS) ?? ""]: `value-${dice.between(1, 99)}` } },
  }),
  (dice) => ({ name: "drop metadata", method: "DELETE", path: `/metadata/${dice.pick(METADATA_KEYS)}` }),
  () => ({ name: "lock", method: "POST", path: "/action", body: { lock: null } }),
  () => ({ name: "unlock", method: "POST", path: "/action", body: { unlock: null } }),
];

/** Changes such an attribute, independently of the operations in progress. */
export async function labelServer(stage: Stage): Promise<void> {
  const { dice } = stage;
  const server = dice.pick(await allServers(stage));
  const label = dice.pick(LABELS)?.(dice);
  if (server !== undefined && label !== undefined) {
    const { name, method, path, body } = label;
    const id = String(server.id);
    await act(stage, name, { method, path: `/servers/${id}${path}`, body }, id);
  }
}
