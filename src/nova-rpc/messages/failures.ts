import * as errors from "../../conductor-client/errors.js";
import { isObject } from "../../runtime/collections.js";
import { withoutUserInfo } from "../../runtime/http.js";

/** An exception of Python as oslo.messaging sends it. */
interface Failure {
  readonly class: string;
  readonly module: string;
  readonly message: string;
  readonly tb: readonly string[];
  readonly args: readonly unknown[];
  readonly kwargs: Readonly<Record<string, unknown>>;
}

type ErrorClass = new (message: string, data?: Readonly<Record<string, unknown>>) => errors.ConductorError;

/** Classes of Nova that the agent tells apart, where the names differ. */
const INBOUND: Readonly<Record<string, ErrorClass>> = {
  UnexpectedTaskStateError: errors.UnexpectedTaskState,
  UnexpectedDeletingTaskStateError: errors.UnexpectedDeletingTaskState,
  UnexpectedVMStateError: errors.UnexpectedVmState,
  // A save whose expected vm_state did not hold, when nobody can say which one did.
  InstanceUpdateConflict: errors.UnexpectedVmState,
  ServiceTopicExists: errors.ServiceBinaryExists,
  DBDuplicateEntry: errors.DuplicateRecord,
  // By id, where it is found by host elsewhere.
  ComputeServiceNotFound: errors.ServiceNotFound,
};

const SAME_NAME: ReadonlyMap<string, ErrorClass> = new Map(Object.entries(errors));

/** Names that a caller's own oslo.messaging can make an exception of; of all others it makes a RemoteError. */
const OUTBOUND: Readonly<Record<string, string>> = {
  UnexpectedTaskState: "UnexpectedTaskStateError",
  UnexpectedDeletingTaskState: "UnexpectedDeletingTaskStateError",
  UnexpectedVmState: "UnexpectedVMStateError",
  InstanceNotFound: "InstanceNotFound",
  MigrationNotFound: "MigrationNotFound",
  ServiceNotFound: "ServiceNotFound",
  ComputeHostNotFound: "ComputeHostNotFound",
  MigrationPreCheckError: "MigrationPreCheckError",
  InvalidMigrationState: "InvalidMigrationState",
  ObjectActionError: "ObjectActionError",
  InstanceInvalidState: "InstanceInvalidState",
  ConsoleTypeUnavailable: "ConsoleTypeUnavailable",
  InstancePasswordSetFailed: "InstancePasswordSetFailed",
  InstanceAgentNotEnabled: "InstanceAgentNotEnabled",
  SetAdminPasswdNotSupported: "SetAdminPasswdNotSupported",
};

/** HTTP codes that the API answers with. */
const CODES: Readonly<Record<string, number>> = { InstanceNotFound: 404, MigrationNotFound: 404 };

/** What cannot be asked of this agent; the API says 501, or 409. */
export class NotImplementedHere extends Error {
  override readonly name = "NotImplementedHere";
}

/** A method or version that nobody should ask for. */
export class UnsupportedRequest extends Error {
  override readonly name = "UnsupportedRequest";
  readonly novaClass: "NoSuchMethod" | "UnsupportedVersion";

  constructor(novaClass: UnsupportedRequest["novaClass"], message: string) {
    super(message);
    this.novaClass = novaClass;
  }
}

/** The failure of a reply as the class that the agent knows; any other as a ConductorError that says which it was. */
export function errorOf(failure: string): errors.ConductorError {
  const { class: name, module, message, kwargs } = readFailure(failure);
  const knownFields = Object.entries(kwargs).flatMap(([key, value]) =>
    ERROR_FIELDS.includes(key) ? [[key, STATES.includes(key) ? stateIn(value, name) : value]] : [],
  );
  const data = { class: name, module, ...Object.fromEntries(knownFields) };
  const known = INBOUND[name] ?? SAME_NAME.get(name);
  if (name === "ObjectActionError" && /host changed/.test(message)) {
    return new errors.ObjectActionError(message, { ...data, reason: "host changed" });
  }
  return known === undefined
    ? new errors.ConductorError(`${module}.${name}: ${message}`, data)
    : new known(message, data);
}

/** Whether a reply's failure is of this class of Nova. */
export function isFailure(error: unknown, name: string): boolean {
  return error instanceof errors.ConductorError && error.data.class === name;
}

/** What of an exception the agent reads. All else may be anything, and errors go to the log. */
const ERROR_FIELDS = ["instance_uuid", "expected", "actual", "reason"];

const STATES = ["expected", "actual"];

/** `{"vm_state": "error", "task_state": "deleting"}`: the state that the exception is of, by its class; the others did not fit either. */
function stateIn(value: unknown, exception: string): unknown {
  return isObject(value) ? value[exception === "UnexpectedVMStateError" ? "vm_state" : "task_state"] : value;
}

/** Without the statement that a database error quotes, with the values in it, and without passwords of addresses. */
function withoutSecrets(message: string): string {
  return withoutUserInfo(message.replace(/\s*\[SQL:[\s\S]*$/, ""));
}

function readFailure(text: string): Failure {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  const fields = isObject(value) ? value : { message: "a failure that is no JSON" };
  const { class: name = "Exception", module = "builtins", message = "", tb = [], args = [], kwargs } = fields;
  return {
    class: String(name),
    module: String(module),
    message: withoutSecrets(String(message)),
    tb: Array.isArray(tb) ? tb.map(String) : [],
    args: Array.isArray(args) ? args : [],
    kwargs: isObject(kwargs) ? kwargs : {},
  };
}

/** What is answered to a call that failed: JSON text. */
export function failureOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const stack =
    error instanceof Error && error.stack !== undefined ? error.stack.split("\n").map((line) => `${line}\n`) : [];
  const { name, module } = novaClassOf(error);
  const code = CODES[name] ?? 500;
  const failure: Failure = {
    class: name,
    module,
    message,
    tb: stack,
    args: [message],
    kwargs: module === "nova.exception" ? { code, ...reasonOf(error) } : {},
  };
  return JSON.stringify(failure);
}

/** By which the caller tells one refusal of an action from another. */
function reasonOf(error: unknown): Readonly<Record<string, unknown>> {
  if (error instanceof errors.InstanceInvalidState) {
    return error.data;
  }
  const reason = error instanceof errors.ObjectActionError ? error.data.reason : undefined;
  return typeof reason === "string" ? { reason } : {};
}

function novaClassOf(error: unknown): { readonly name: string; readonly module: string } {
  if (error instanceof NotImplementedHere || (error instanceof Error && error.name === "NotImplementedError")) {
    return { name: "NotImplementedError", module: "builtins" };
  }
  if (error instanceof UnsupportedRequest) {
    return { name: error.novaClass, module: "oslo_messaging.rpc.dispatcher" };
  }
  const name = error instanceof Error ? OUTBOUND[error.name] : undefined;
  return { name: name ?? "NovaException", module: "nova.exception" };
}
