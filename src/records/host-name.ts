/** The rule for names of compute hosts, as a pattern with the flag `u`: it stands in schemas too. */
export const HOST_NAME_PATTERN = String.raw`^(?!\.{1,2}$)[^\p{C}\p{Z}/\\%]{1,255}$`;

/** The rule in words, behind "expected". */
export const HOST_NAME_RULE =
  "a host name: 1 to 255 printable characters without spaces, slashes and percent signs, other than . and ..";

const HOST_NAME = new RegExp(HOST_NAME_PATTERN, "u");

/**
 * Whether a compute host may be called so: the name has to fit Nova's column, becomes a folder's name, and is printed
 * in many tables; a percent sign would be read as an escape in the hypervisor's address.
 */
export function isHostName(text: string): boolean {
  return HOST_NAME.test(text);
}
