import type { Call, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { requireMember, requireReader } from "../api/policy.js";
import { findServer } from "./find-server.js";

const PATH = "/servers/:id/os-server-password";
const policy = (what: string): string => `os_compute_api:os-server-password:${what}`;

/** In which a guest leaves its password, encrypted with the server's key pair and cut in pieces. */
const PIECES = ["password_0", "password_1", "password_2", "password_3"];

export const PASSWORD_ROUTES: readonly ComputeRoute[] = [
  {
    method: "GET",
    path: PATH,
    handle: (deps, call) => {
      const { systemMetadata } = findServer(deps, call).instance;
      requireReader(call, policy("show"));
      return { body: { password: PIECES.map((piece) => systemMetadata[piece] ?? "").join("") } };
    },
  },
  {
    method: "DELETE",
    path: PATH,
    handle: (deps, call) => {
      clear(deps, call);
      return { status: 204 };
    },
  },
];

/** The guest's own password stays what it is. */
function clear({ store }: ComputeDeps, call: Call): void {
  store.transaction(() => {
    const { instance, building } = findServer({ store }, call);
    requireMember(call, policy("clear"));
    const { uuid, systemMetadata } = instance;
    if (!building && PIECES.some((piece) => piece in systemMetadata)) {
      const rest = Object.entries(systemMetadata).filter(([name]) => !PIECES.includes(name));
      store.instances.save(uuid, { systemMetadata: Object.fromEntries(rest) });
    }
  });
}
