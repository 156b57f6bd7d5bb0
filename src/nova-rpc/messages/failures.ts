import {
  ConductorError,
  type ConductorErrorCode,
  isConductorError,
  toWireErrorCode,
} from "../../conductor-client/errors.js";
import { isObject } from "../../runtime/collections.js";
import { errorMessage } from "../../runtime/error-messages.js";
import { withoutUserInfo } from "../../runtime/http.js";

/** A Python exception, as serialised by oslo.messaging. */
interface Failure {
  readonly class: string;
  readonly module: string;
  readonly message: string;
  readonly tb: readonly string[];
  readonly args: readonly unknown[];
  readonly kwargs: Readonly<Record<string, unknown>>;
}

/** The codes of Nova's exceptions that have other names. */
const INBOUND: Readonly<Record<string, ConductorErrorCode>> = {
  UnexpectedTaskStateError: "UnexpectedTaskState",
  UnexpectedDeletingTaskStateError: "UnexpectedDeletingTaskState",
  UnexpectedVMStateError: "UnexpectedVmState",
  // A save with an unexpected vm_state whose actual value is unknown.
  InstanceUpdateConflict: "UnexpectedVmState",
  ServiceTopicExists: "ServiceBinaryExists",
  DBDuplicateEntry: "DuplicateRecord",
  // Nova raises this by id, and the other class by host.
  ComputeServiceNotFound: "ServiceNotFound",
};

/** Names that a caller's oslo.messaging converts to exceptions; all others become a RemoteError. */
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

/** HTTP status codes of the API's response. */
const CODES: Readonly<Record<string, number>> = { InstanceNotFound: 404, MigrationNotFound: 404 };

/**
 * Converts the failure of a reply to a ConductorError: with its code, or, for an unknown exception, with its class name in the
 * message.
 */
export function errorOf(failure: string): ConductorError {
  const { class: name, module, message, kwargs } = readFailure(failure);
  const knownFields = Object.entries(kwargs).flatMap(([key, value]) =>
    ERROR_FIELDS.includes(key) ? [[key, STATES.includes(key) ? stateIn(value, name) : value]] : [],
  );
  const data = { class: name, module, ...Object.fromEntries(knownFields) };
  const code = INBOUND[name] ?? toWireErrorCode(name);
  if (name === "ObjectActionError" && /host changed/.test(message)) {
    return new ConductorError("ObjectActionError", message, { ...data, reason: "host changed" });
  }
  return code === undefined
    ? new ConductorError("ConductorError", `${module}.${name}: ${message}`, data)
    : new ConductorError(code, message, data);
}

/** Returns whether a reply's failure has this class of Nova. */
export function isFailure(error: unknown, name: string): boolean {
  return error instanceof ConductorError && error.data.class === name;
}

/** Fields of an exception that are preserved. All others may contain anything, and errors are logged. */
const ERROR_FIELDS = ["instance_uuid", "expected", "actual", "reason"];

const STATES = ["expected", "actual"];

/**
 * Extracts the state that belongs to the exception's class, for example from `{"vm_state": "error", "task_state":
 * "deleting"}`.
 */
function stateIn(value: unknown, exception: string): unknown {
  return isObject(value) ? value[exception === "UnexpectedVMStateError" ? "vm_state" : "task_state"] : value;
}

/** Removes the SQL statement of a database error with its values, and passwords in URLs. */
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
  const fields = isObject(value) ? value : { message: "a failure that is not JSON" };
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

/** Serialises the failure of a call as JSON. */
export function failureOf(error: unknown): string {
  const message = errorMessage(error);
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

/** Returns the fields by which the caller distinguishes the rejections of an action. */
function reasonOf(error: unknown): Readonly<Record<string, unknown>> {
  if (isConductorError(error, "InstanceInvalidState")) {
    return error.data;
  }
  const reason = isConductorError(error, "ObjectActionError") ? error.data.reason : undefined;
  return typeof reason === "string" ? { reason } : {};
}

function novaClassOf(error: unknown): { readonly name: string; readonly module: string } {
  const name = error instanceof Error ? error.name : "";
  if (name === "NotImplementedHere" || name === "NotImplementedError") {
    return { name: "NotImplementedError", module: "builtins" };
  }
  if (name === "NoSuchMethod" || name === "UnsupportedVersion") {
    return { name, module: "oslo_messaging.rpc.dispatcher" };
  }
  return { name: OUTBOUND[name] ?? "NovaException", module: "nova.exception" };
}
