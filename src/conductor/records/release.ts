/**
 * Service version of nova-compute by release: the last that each release has in its history (nova/objects/service.py), and this
 * build's.
 */
export const RELEASES = {
  pike: 22,
  queens: 30,
  rocky: 35,
  stein: 37,
  train: 40,
  ussuri: 51,
  victoria: 52,
  wallaby: 54,
  xena: 57,
  yoga: 61,
  zed: 64,
  antelope: 66,
  master: 73,
} as const satisfies Readonly<Record<string, number>>;

export type Release = keyof typeof RELEASES;

export const RELEASE_NAMES = Object.keys(RELEASES) as readonly Release[];

export const isRelease = (name: string): name is Release => Object.hasOwn(RELEASES, name);
