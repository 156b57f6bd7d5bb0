import { VIRT_API_VERSION } from "./driver.js";

type Version = readonly [major: number, minor: number];
type Comparator = (compared: number) => boolean;

const COMPARATORS: Readonly<Record<string, Comparator>> = {
  ">=": (compared) => compared >= 0,
  ">": (compared) => compared > 0,
  "<=": (compared) => compared <= 0,
  "<": (compared) => compared < 0,
  "=": (compared) => compared === 0,
};

/** Why a host with this version of the contract cannot run a driver of that `apiVersion`; null: it can. */
export function whyNotApi(required: string, offered: string = VIRT_API_VERSION): string | null {
  const host = parse(offered) ?? [0, 0];
  const exact = parse(required);
  if (exact !== null) {
    return whyNotExact(exact, host);
  }
  const parts = required.trim().split(/\s+/).map(comparatorOf);
  if (parts.some((part) => part === null)) {
    return `apiVersion must look like ${offered}, or like ">=1.0 <2"`;
  }
  return parts.every((part) => part?.(host)) ? null : `${offered} is outside of that range`;
}

function whyNotExact([major, minor]: Version, [hostMajor, hostMinor]: Version): string | null {
  if (major === hostMajor && minor <= hostMinor) {
    return null;
  }
  const least = major === hostMajor ? `${hostMajor}.${hostMinor}` : `${hostMajor}.x`;
  return major >= hostMajor
    ? `install a newer compute-agent, or a driver for contract ${least}`
    : `install a newer version of the driver, written for contract ${hostMajor}.x`;
}

function comparatorOf(text: string): ((host: Version) => boolean) | null {
  const [, operator = "", rest = ""] = /^(>=|<=|>|<|=)(.+)$/.exec(text) ?? [];
  const bound = parse(rest.includes(".") ? rest : `${rest}.0`);
  const holds = COMPARATORS[operator];
  if (bound === null || holds === undefined) {
    return null;
  }
  return (host) => holds(host[0] === bound[0] ? host[1] - bound[1] : host[0] - bound[0]);
}

function parse(version: string): Version | null {
  const [, major, minor] = /^(\d+)\.(\d+)(?:\.\d+)?$/.exec(version) ?? [];
  return major === undefined || minor === undefined ? null : [Number(major), Number(minor)];
}
