import type { Answer, Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { requireMember } from "../api/policy.js";
import { DESCRIPTION, DISK_CONFIG, HOSTNAME, NAME, SHORT_HOSTNAME } from "../api/schema-parts.js";
import { type Schema, schemas } from "../api/validate.js";
import { findInstance } from "./find-server.js";
import { ServerView } from "./server-view.js";

interface UpdateBody {
  readonly server: { readonly name?: string; readonly description?: string | null; readonly hostname?: string };
}

const BASE: Readonly<Record<string, Schema>> = {
  name: NAME,
  "OS-DCF:diskConfig": DISK_CONFIG,
  accessIPv4: { type: "string", format: "ipv4" },
  accessIPv6: { type: "string", format: "ipv6" },
};

function body(properties: Readonly<Record<string, Schema>>): Schema {
  return {
    type: "object",
    properties: { server: { type: "object", properties, additionalProperties: false } },
    required: ["server"],
    additionalProperties: false,
  };
}

const v19 = { ...BASE, description: DESCRIPTION };
const UPDATE = schemas<UpdateBody>(
  [1, body(BASE)],
  [19, body(v19)],
  [90, body({ ...v19, hostname: SHORT_HOSTNAME })],
  [94, body({ ...v19, hostname: HOSTNAME })],
);

/** Before 2.75 the answer leaves out what the extensions of the time added to GET only. */
const NOT_BEFORE_75 = /^(OS-EXT-|OS-SRV-USG:|os-extended-volumes:|config_drive$|key_name$|host_status$)/;

/** PUT /servers/{id}: a name, a description, and since 2.90 the guest's host name. */
export function updateServer(deps: ComputeDeps, call: Call): Answer {
  const { name, description, hostname } = call.body(UPDATE).server;
  requireMember(call, "os_compute_api:servers:update");
  const instance = deps.store.instances.save(findInstance(deps, call).uuid, {
    ...(name === undefined ? {} : { displayName: name }),
    ...(description === undefined ? {} : { displayDescription: description }),
    ...(hostname === undefined ? {} : { hostname }),
  });
  const view = new ServerView(deps, call).detail({ instance, building: false });
  const shown = Object.entries(view).filter(([key]) => call.version >= 75 || !NOT_BEFORE_75.test(key));
  return { body: { server: Object.fromEntries(shown) } };
}
