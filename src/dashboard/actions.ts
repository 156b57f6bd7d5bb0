import { quoted } from "../control-plane/identity/openrc.js";
import { CloudRequestFailed } from "../control-plane/local/cloud-session.js";
import { errorMessage } from "../runtime/error-messages.js";
import type { ServiceResponse } from "../runtime/http-server.js";
import { errorResponse, jsonResponse } from "./responses.js";
import { fillCommand } from "./wire/command-lines.js";
import type { ActionBody, ActionResponse, DashboardAction } from "./wire/messages.js";

const MAX_BODY_CHARS = 64 * 1024;

/** Maximum length of a text field in characters. */
const MAX_TEXT_CHARS = 4_096;

/** Maximum number of lines in a response, and of characters in a line. */
const MAX_LINES = 2_000;

const MAX_LINE_CHARS = 2_000;

/** An action with the function that runs it. */
export interface RunnableAction {
  readonly action: DashboardAction;
  /** @throws {Error} with the reason why the action was not done */
  readonly run: (
    body: ActionBody,
  ) => Promise<Partial<Pick<ActionResponse, "lines" | "made" | "requestId" | "commands">>>;
}

/** @param look called with the affected host, before and after the action */
export async function runAction(
  runnable: RunnableAction,
  text: string,
  look: (host: string) => void,
): Promise<ServiceResponse> {
  const body = bodyOf(text);
  const wrong =
    body === undefined ? "expected a JSON object of strings and booleans" : wrongField(runnable.action, body);
  if (body === undefined || wrong !== undefined) {
    return errorResponse(400, wrong ?? "");
  }
  const commands = commandLines(runnable.action.commands, body);
  const refreshHost = (): void => {
    if (typeof body.host === "string" && body.host !== "") {
      look(body.host);
    }
  };
  const nothing = { error: null, code: null, lines: [], made: null, requestId: null };
  try {
    refreshHost();
    const done = await runnable.run(body);
    const lines = (done.lines ?? []).slice(0, MAX_LINES).map((line) => line.slice(0, MAX_LINE_CHARS));
    return jsonResponse(200, { ok: true, commands, ...nothing, ...done, lines } satisfies ActionResponse);
  } catch (error) {
    return jsonResponse(200, { ok: false, commands, ...nothing, ...describe(error) } satisfies ActionResponse);
  } finally {
    refreshHost();
  }
}

/** Describes why an action was not done, without the JSON of an API's response. */
function describe(error: unknown): Pick<ActionResponse, "error" | "code"> {
  if (error instanceof CloudRequestFailed) {
    const { fault, status } = error;
    return { error: fault.message, code: fault.name === null ? String(status) : `${fault.name} (${status})` };
  }
  return { error: errorMessage(error), code: null };
}

function bodyOf(text: string): ActionBody | undefined {
  if (text.length > MAX_BODY_CHARS) {
    return undefined;
  }
  try {
    const body: unknown = JSON.parse(text === "" ? "{}" : text);
    const isBody =
      typeof body === "object" &&
      body !== null &&
      !Array.isArray(body) &&
      Object.values(body).every((value) => typeof value === "string" || typeof value === "boolean");
    return isBody ? (body as ActionBody) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns what is wrong with a field, or undefined if all are valid. A value may not look like an option of a command.
 */
function wrongField({ fields }: DashboardAction, body: ActionBody): string | undefined {
  const known = new Set(fields.map(({ name }) => name));
  const unknown = Object.keys(body).find((name) => !known.has(name));
  if (unknown !== undefined) {
    return `found the field ${JSON.stringify(unknown)}, expected ${[...known].join(", ")}`;
  }
  for (const { name, type, required, choices } of fields) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    if (value === undefined || value === "") {
      if (required) {
        return `the field ${name} is missing`;
      }
    } else if (typeof value !== (type === "flag" ? "boolean" : "string")) {
      return `the field ${name}: expected a ${type === "flag" ? "flag" : "text"}`;
    } else if (typeof value === "string" && (value.length > MAX_TEXT_CHARS || /^-|\p{Cc}/u.test(value))) {
      return `the field ${name}: expected a line of at most ${MAX_TEXT_CHARS} characters that begins with no hyphen`;
    } else if (typeof value === "string" && choices !== undefined && !choices.includes(value)) {
      return `the field ${name}: found ${JSON.stringify(value)}, expected ${choices.join(", ")}`;
    }
  }
  return undefined;
}

/** Returns command lines with the values of fields, quoted for a shell. @internal */
export function commandLines(lines: readonly string[], body: ActionBody): readonly string[] {
  return lines.map((line) => fillCommand(line, body, quoted, () => quoted("")));
}

/** Splits a command line into arguments. A field's value is always one argument, whatever characters it has. */
export function wordsOf(line: string, body: ActionBody): readonly string[] {
  const values: string[] = [];
  const mark = (value: string) => `\0${values.push(value) - 1}\0`;
  const marked = fillCommand(line, body, mark, () => mark(""));
  return marked.split(" ").map((word) => word.replace(/\0(\d+)\0/g, (_, index) => values[Number(index)] ?? ""));
}
