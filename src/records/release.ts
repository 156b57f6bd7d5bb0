/**
 * The service version of nova-compute by release: SERVICE_VERSION in nova/objects/service.py at the release's first tag
 * (16.0.0 to 34.0.0; stable updates did not change it). `master` is an alias of the newest release, which this build
 * implements. SERVICE_VERSION_ALIASES in the same file, which Nova uses for the oldest supported release, has lower
 * values for four: Victoria 52, Wallaby 54, Xena 57, Caracal 66.
 */
export const RELEASES = {
  pike: 22,
  queens: 30,
  rocky: 35,
  stein: 37,
  train: 40,
  ussuri: 51,
  victoria: 53,
  wallaby: 56,
  xena: 60,
  yoga: 61,
  zed: 64,
  antelope: 66,
  bobcat: 66,
  caracal: 67,
  dalmatian: 67,
  epoxy: 68,
  flamingo: 70,
  gazpacho: 72,
  hibiscus: 74,
  master: 74,
} as const satisfies Readonly<Record<string, number>>;

export type Release = keyof typeof RELEASES;

export const RELEASE_NAMES = Object.keys(RELEASES) as readonly Release[];

export const isRelease = (name: string): name is Release => Object.hasOwn(RELEASES, name);
