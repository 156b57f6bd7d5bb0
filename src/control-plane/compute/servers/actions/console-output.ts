import { MAX_INTEGER } from "../../../../records/field.js";
import { askAgent } from "../../api/ask-agent.js";
import { requireMember } from "../../api/policy.js";
import { schemas } from "../../api/validate.js";
import { findServer } from "../find-server.js";
import { requireHost, type ServerAction } from "./server-action.js";

interface ConsoleOutputBody {
  readonly "os-getConsoleOutput": { readonly length?: number | string | null };
}

const SCHEMA = schemas<ConsoleOutputBody>([
  1,
  {
    type: "object",
    properties: {
      "os-getConsoleOutput": {
        type: "object",
        properties: { length: { type: ["integer", "string", "null"], pattern: "^-?[0-9]+$", minimum: -1 } },
        additionalProperties: false,
      },
    },
    required: ["os-getConsoleOutput"],
    additionalProperties: false,
  },
]);

/** Characters that XML could not carry; Nova leaves them out of JSON, too. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f]/g;

/** Spec 6.10: what the guest wrote to its console. */
export const consoleOutput: ServerAction = {
  name: "os-getConsoleOutput",
  schema: SCHEMA,
  ask: async (deps, call) => {
    const { length = null } = call.body(SCHEMA)["os-getConsoleOutput"];
    const { instance } = findServer(deps, call);
    requireMember(call, "os_compute_api:os-console-output");
    const tailLength = length === null ? null : Math.max(-MAX_INTEGER, Math.min(MAX_INTEGER, Number(length)));
    const params = { instanceUuid: instance.uuid, requestId: call.requestId, tailLength };
    const method = "get_console_output";
    const output = await askAgent(deps, call, requireHost(instance), method, params, method);
    return { body: { output: output.replaceAll(UNPRINTABLE, "") } };
  },
};
