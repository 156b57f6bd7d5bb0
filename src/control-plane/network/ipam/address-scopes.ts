import { where } from "../../resources/condition.js";
import type { Behaviour } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import { storedAttributes } from "../engine/records.js";
import { sharedIds } from "../engine/sharing.js";
import { ADDRESS_SCOPES, SUBNETPOOLS } from "../resources/subnet-pools.js";

export const ADDRESS_SCOPE_BEHAVIOUR: Behaviour<typeof ADDRESS_SCOPES.attributes> = {
  prepareUpdate: (context, { id }, changes) => {
    if (changes.shared === false && sharedIds(context, ADDRESS_SCOPES, [id]).has(id)) {
      throw networkError(
        400,
        "AddressScopeUpdateError",
        `Unable to update address scope ${id} : Shared address scope can't be unshared.`,
      );
    }
    return storedAttributes(ADDRESS_SCOPES, changes);
  },
  beforeDelete: (context, { id }) => {
    if (context.table(SUBNETPOOLS).has(where`address_scope_id = ${id}`)) {
      throw networkError(
        409,
        "AddressScopeInUse",
        `Unable to complete operation on address scope ${id}. There are one or more subnet pools in use on the address scope.`,
      );
    }
  },
};
