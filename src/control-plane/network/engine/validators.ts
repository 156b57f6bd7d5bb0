import type { Validator } from "./python-values.js";
import { ADDRESS_VALIDATORS } from "./validators-of-addresses.js";
import { DNS_VALIDATORS } from "./validators-of-dns-names.js";
import { OBJECT_VALIDATORS } from "./validators-of-objects.js";
import { VALUE_VALIDATORS } from "./validators-of-values.js";

/** The validators by the names that they have in attribute maps. */
export const VALIDATORS: Readonly<Record<string, Validator>> = {
  ...VALUE_VALIDATORS,
  ...ADDRESS_VALIDATORS,
  ...DNS_VALIDATORS,
  ...OBJECT_VALIDATORS,
};
