/** A kind of difference that is meant, with its reason. */
interface MeantDifference {
  readonly pattern: RegExp;
  readonly reason: string;
}

/** All intended differences between the embedded Network service and Debian's Neutron 21. */
export const MEANT_DIFFERENCES: readonly MeantDifference[] = [];
