import { InvalidArgumentError } from "commander";
import { SERVER_STATUSES } from "../../../control-plane/compute/servers/server-status.js";
import { MAX_HOSTS } from "../../../records/host-range.js";
import { didYouMean } from "../../../runtime/did-you-mean.js";

/** What `compute-cluster wait --for` waits for. */
export type Condition =
  | { readonly kind: "hosts"; readonly count: number }
  | { readonly kind: "settled" }
  | { readonly kind: "server"; readonly server: string; readonly status: string };

/** Reads `hosts=3`, `settled` or `server=vm1:ACTIVE`. @throws {InvalidArgumentError} */
export function parseCondition(text: string, before: readonly Condition[] = []): readonly Condition[] {
  return [...before, conditionIn(text)];
}

function conditionIn(text: string): Condition {
  if (text === "settled") {
    return { kind: "settled" };
  }
  const [, digits] = /^hosts=(\d{1,6})$/.exec(text) ?? [];
  if (digits !== undefined && Number(digits) >= 1 && Number(digits) <= MAX_HOSTS) {
    return { kind: "hosts", count: Number(digits) };
  }
  // A name may have colons of its own.
  const [, server, status] = /^server=(.+):([A-Za-z_]+)$/s.exec(text) ?? [];
  if (server !== undefined && status !== undefined) {
    assertStatus(status.toUpperCase());
    return { kind: "server", server, status: status.toUpperCase() };
  }
  throw new InvalidArgumentError(`expected hosts=N (1 to ${MAX_HOSTS}), settled, or server=NAME:STATUS.`);
}

/** @throws {InvalidArgumentError} no server ever has the status */
function assertStatus(status: string): void {
  if (!SERVER_STATUSES.includes(status)) {
    const near = didYouMean(status, SERVER_STATUSES);
    const hint = near === undefined ? `expected one of ${SERVER_STATUSES.join(", ")}` : `did you mean ${near}?`;
    throw new InvalidArgumentError(`there is no status ${status}; ${hint}`);
  }
}
