import { ResourceProviderRetrievalFailed } from "../../placement-client/errors.js";
import { listProviders } from "../../placement-client/provider-requests.js";
import type { ProviderListing } from "../../placement-client/types.js";
import { pythonRepr } from "../python/plain-repr.js";
import { INVALID_INPUT, ManageFailure, type ManageParts } from "./manage-parts.js";
import { type Orphan, OrphanFinder } from "./orphans.js";
import { removeOrphan } from "./remove-orphan.js";

export interface AuditOptions {
  readonly resourceProvider?: string;
  readonly delete: boolean;
  readonly verbose: boolean;
}

const AUDIT_CODES = { clean: 0, failed: 1, found: 3, deleted: 4 } as const;

/** `nova-manage placement audit` (spec 7.4). @returns the exit code. @throws {ManageFailure}, and Placement's and the conductor's errors */
export async function audit(parts: ManageParts, options: AuditOptions): Promise<number> {
  const say = options.verbose ? parts.print : () => undefined;
  const finder = new OrphanFinder(parts, say);
  let processed = 0;
  for (const provider of await providersOf(parts, options.resourceProvider)) {
    let faults = 0;
    for (const orphan of await finder.on(provider)) {
      const dealtWith = await report(parts, say, orphan, options.delete);
      if (dealtWith) {
        processed += 1;
      } else {
        faults += 1;
      }
    }
    if (faults > 0) {
      throw new ManageFailure(
        AUDIT_CODES.failed,
        `The Resource Provider ${provider.uuid} had problems when deleting allocations. Stopping now. Please fix the ` +
          "problem by hand and run again.",
      );
    }
  }
  if (processed === 0) {
    return AUDIT_CODES.clean;
  }
  say(`Processed ${processed} allocation${processed > 1 ? "s" : ""}.`);
  return options.delete ? AUDIT_CODES.deleted : AUDIT_CODES.found;
}

/** False: what is to be deleted was not. */
async function report(
  parts: ManageParts,
  say: (line: string) => void,
  orphan: Orphan,
  deletes: boolean,
): Promise<boolean> {
  const { consumer, provider, resources } = orphan;
  // The blank before the line's end is nova-manage's.
  say(
    `Allocations were set against consumer UUID ${consumer} but no existing instances or active migrations are related. `,
  );
  const what = `consumer UUID ${consumer} on Resource Provider ${provider}`;
  if (!deletes) {
    say(`Allocations for ${what} can be deleted: ${pythonRepr(resources)}`);
    return true;
  }
  if (!(await removeOrphan(parts, orphan))) {
    parts.print(`Not able to delete allocations for consumer UUID ${consumer}`);
    return false;
  }
  say(`Deleted allocations for ${what}: ${pythonRepr(resources)}`);
  return true;
}

async function providersOf(parts: ManageParts, uuid: string | undefined): Promise<readonly ProviderListing[]> {
  const { placement, context } = parts;
  if (uuid === undefined) {
    return listProviders(placement, "", context);
  }
  try {
    const found = await listProviders(placement, `uuid=${encodeURIComponent(uuid)}`, context);
    if (found.length > 0) {
      return found;
    }
  } catch (error) {
    // What is no uuid at all is refused by Placement.
    if (!(error instanceof ResourceProviderRetrievalFailed) || error.status !== 400) {
      throw error;
    }
  }
  throw new ManageFailure(INVALID_INPUT, `Resource provider with UUID ${uuid} does not exist.`);
}
