import { ADDRESS_VALIDATORS } from "./validators-of-addresses.js";
import { DNS_VALIDATORS } from "./validators-of-dns-names.js";
import { OBJECT_VALIDATORS } from "./validators-of-objects.js";
import { VALUE_VALIDATORS } from "./validators-of-values.js";

/**
 * Returns Neutron's message for an invalid value; undefined if it is valid. `parameter` is what the attribute map has
 * beside the type: 255 for `type:string`. A validator whose type converts members does so in `value`.
 * @throws {HttpError} where Neutron raises an exception of its own: 400, 409, or 500 if its code does not expect the
 * type of the value
 */
export type Validator = (value: unknown, parameter: unknown) => string | undefined;

/** The validators by the names that they have in attribute maps. */
export const VALIDATORS: Readonly<Record<string, Validator>> = {
  ...VALUE_VALIDATORS,
  ...ADDRESS_VALIDATORS,
  ...DNS_VALIDATORS,
  ...OBJECT_VALIDATORS,
};
