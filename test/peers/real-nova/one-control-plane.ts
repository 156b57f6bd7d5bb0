import type { TestProject } from "vitest/node";
import { ControlPlane, hasPeer } from "./control-plane.js";

declare module "vitest" {
  interface ProvidedContext {
    /** The control plane's folder. */
    realNova: string;
  }
}

/** Starts one control plane for all files, which run in sequence: its start takes half a minute. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (!hasPeer) {
    return undefined;
  }
  const began = performance.now();
  const plane = await ControlPlane.start();
  process.stdout.write(`a real Nova was up after ${Math.round(performance.now() - began)} ms\n`);
  project.provide("realNova", plane.state);
  return () => plane.stop();
}
