import { readFileSync } from "node:fs";
import type { Outcome } from "./clients.js";

/** A command that was run with a real Nova, Placement and Keystone, and its result. */
export interface RecordedCommand extends Outcome {
  readonly recording: string;
  readonly command: string;
}

const FILE = new URL("../../fixtures/golden/osc/commands.json", import.meta.url);

/** Returns the commands in the order of their recording. */
export function recordedCommands(): readonly RecordedCommand[] {
  return JSON.parse(readFileSync(FILE, "utf8")) as RecordedCommand[];
}

/** Ids of the recorded deployment whose objects also exist in a local one. */
export const RECORDED = {
  project: "f7714ea72def4a1a9cbc6d78bcbb926e",
  user: "c2def5993d904a4680d8483057c5be21",
  devstack1Provider: "9e0b4d84-8a13-4c7d-857a-347da96530ba",
  devstack2Provider: "3d000e02-38b6-4168-8f2f-be031e9db36d",
  devstack2Service: "d02dcac6-fc85-4274-834c-a294bade3e5f",
  devstack3Service: "bd4b7d70-e9b1-440f-87ad-96444d39fbc6",
  vm1: "278fea6c-1ea5-4f03-8011-ac0bca225ad5",
  oscvm2: "ff73514d-f563-4062-9022-c88f4025f5b4",
} as const;
