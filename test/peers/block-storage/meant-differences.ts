/** A kind of difference that is meant, with its reason. */
interface MeantDifference {
  /** Matches the text of a kind. */
  readonly pattern: RegExp;
  readonly reason: string;
}

/** All intended differences between the embedded Block Storage service and Debian's Cinder 21. */
export const MEANT_DIFFERENCES: readonly MeantDifference[] = [
  {
    pattern: /^(?:GET|PUT|POST) \/volumes\S*: volumes?(?:\[\])?\.service_uuid: null is "<id>"$/,
    reason: "Cinder does not record the service of a volume that it has taken under management",
  },
  {
    pattern: /^[A-Z]+ \S+: 404 <html>.* is 404 /s,
    reason: "the page of Cinder's web framework, which has JSON for some paths only",
  },
  {
    pattern: /^POST \/volumes\/\{id\}\/action os-(?:attach|initialize_connection): 500 computeFault "[^"]*" is 20[02]$/,
    reason: "Cinder fails to reach the service of a volume that has none",
  },
  {
    pattern: /^GET \/volumes\/summary: volume-summary\.metadata\.\w+\[\]: "\S+" is "\S+"$/,
    reason: "Cinder collects the values in a set, which has no order",
  },
];
