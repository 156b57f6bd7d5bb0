import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { type Cloud, eventually, type Json } from "../support/cloud.js";
import { type ClusterState, clusterSnapshot, differences, recordedSnapshot, type Snapshot } from "./cluster-state.js";

const FOLDER = fileURLToPath(new URL("../../fixtures/golden/nova", import.meta.url));
/** Timeout of a step, in milliseconds. */
const STEP_TIMEOUT_MS = 45_000;

/** Compares a cloud, step by step, with the recording of a real Nova. */
export class GoldenRun {
  readonly #cloud: Cloud;
  #recorded: Readonly<Record<string, number>> = {};
  #found: Readonly<Record<string, number>> = {};

  constructor(cloud: Cloud) {
    this.#cloud = cloud;
  }

  /** Sets the step where both begin; earlier changes of generations are ignored. */
  async begin(step: string): Promise<void> {
    this.#recorded = recordedSnapshot(recording(step).state ?? {}).generations;
    const found = await clusterSnapshot(this.#cloud);
    expect(found.state).toEqual(recordedSnapshot(recording(step).state ?? {}).state);
    this.#found = found.generations;
  }

  /** Waits until the cluster is in the recorded state. */
  async reaches(step: string): Promise<void> {
    const recorded = recordedSnapshot(recording(step).state ?? {});
    const expected = this.#compared(recorded, this.#recorded);
    const until = Date.now() + STEP_TIMEOUT_MS;
    const found = await eventually(
      () => clusterSnapshot(this.#cloud),
      (snapshot) => Date.now() > until || isDeepEqual(this.#compared(snapshot, this.#found), expected),
    );
    expect(this.#compared(found, this.#found), step).toEqual(expected);
    this.#recorded = recorded.generations;
    this.#found = found.generations;
  }

  #compared({ state, generations }: Snapshot, before: Readonly<Record<string, number>>): ClusterState {
    return { ...state, generations: differences(generations, before) };
  }
}

function isDeepEqual(left: unknown, right: unknown): boolean {
  try {
    expect(left).toEqual(right);
    return true;
  } catch {
    return false;
  }
}

function recording(step: string): Json {
  const file = readdirSync(FOLDER).find((name) => name.startsWith(`${step}-`));
  if (file === undefined) {
    throw new Error(`there is no recording ${step}`);
  }
  return JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as Json;
}
