import { didYouMean } from "../runtime/error-messages.js";

/** `: did you mean suspend?`, or nothing when no name is near. */
export function suggest(name: string, known: Iterable<string>): string {
  const nearest = didYouMean(name, known);
  return nearest === undefined ? "" : `: did you mean ${nearest}?`;
}
