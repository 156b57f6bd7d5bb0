import { expect } from "vitest";
import type { FaultRule } from "../../../../src/simulation/virtual-network.js";
import { VM } from "./evacuated.js";
import type { Harness } from "./harness.js";
import {
  atEveryStep,
  countdown,
  type Expectation,
  isTracked,
  meddled,
  PERIODIC,
  type Sample,
} from "./returning-host.js";

const BROKEN = { kind: "answer", response: { status: 500, headers: {}, body: "" } } as const;
const CONFLICT = {
  kind: "answer",
  response: {
    status: 409,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      errors: [{ status: 409, title: "Conflict", code: "placement.concurrent_update", detail: "generation conflict" }],
    }),
  },
} as const;
const SLOW = { kind: "latency", milliseconds: 3_600_000 } as const;
const EVER = Number.POSITIVE_INFINITY;

/** The fault that Placement has from one request on, and the number of times. */
const NETWORK: Readonly<Record<string, readonly [fault: FaultRule["fault"], times: number]>> = {
  "409 once": [CONFLICT, 1],
  "409 four times": [CONFLICT, 4],
  "409 for ever": [CONFLICT, EVER],
  "500": [BROKEN, 1],
  "500 for ever": [BROKEN, EVER],
  "connection refused": [{ kind: "refuse" }, 1],
  "connection refused from here on": [{ kind: "refuse" }, EVER],
  "slower than its time-out": [SLOW, 1],
  "slower than its time-out from here on": [SLOW, EVER],
  "answer lost after commit": [{ kind: "lose-answer" }, 1],
};

/** In milliseconds: more than service_down_time. */
const LONG = 61_000;

interface Meddling {
  readonly action: (harness: Harness) => void | Promise<void>;
  readonly heal?: (harness: Harness) => void;
  readonly ends?: Expectation["ends"];
}

/** External changes before one step. */
const MEDDLING: Readonly<Record<string, Meddling>> = {
  "the row of its node is deleted": {
    action: (harness) => {
      for (const { id } of harness.store.computeNodes.byHost("devstack1")) {
        harness.store.computeNodes.destroy(id, "devstack1");
      }
    },
  },
  "its provider is deleted": { action: (harness) => harness.removeProvider("devstack1") },
  "an operator edits its traits": { action: (harness) => harness.addTrait("devstack1", "CUSTOM_GOLD") },
  "its clock jumps ahead by more than service_down_time": { action: (harness) => harness.world.jumpClock(LONG) },
  "its clock jumps back by more than service_down_time": { action: (harness) => harness.world.jumpClock(-LONG) },
  "its service is forced down": { action: (harness) => force(harness, true), heal: (harness) => force(harness, false) },
  "its service is forced up": { action: (harness) => force(harness, false) },
  "the instance is deleted": {
    action: async (harness) => {
      // As the instance's current host does.
      harness.hypervisor("devstack2").guests.delete(VM);
      await harness.hold(VM, {});
      if (harness.store.instances.get(VM)) {
        harness.store.instances.destroy(VM);
      }
    },
    ends: async (harness, evacuation, at) => {
      expect(harness.hypervisor("devstack1").guests.has(VM), `step ${at}`).toBe(false);
      expect(await harness.held(VM), `step ${at}`).toEqual({});
      await isTracked(harness, evacuation, at);
    },
  },
};

function force(harness: Harness, forcedDown: boolean): void {
  const service = harness.store.services.getByHost("devstack1", "nova-compute");
  if (service) {
    harness.store.services.update(service.id, { forcedDown });
  }
}

const DRIVER: Readonly<Record<string, () => Promise<void>>> = {
  "the driver raises": async () => {
    throw new Error("monitor socket closed");
  },
  "the driver hangs": () => new Promise<never>(() => {}),
};

/** A fault of spec 9.4 at the steps of a host that returns from an evacuation: its start, its cleanup and its passes. */
export interface ReturnFault {
  readonly name: string;
  /** True if there are few steps. */
  readonly few: boolean;
  /** Runs at all steps, or at a sample of them. */
  readonly run: (sample?: Sample) => Promise<void>;
}

const network = Object.entries(NETWORK).map(
  ([name, [fault, times]]): ReturnFault => ({
    name: `Placement: ${name}, at each request`,
    few: true,
    run: async (sample) => {
      const requests = await atEveryStep({
        ...(sample ? { sample } : {}),
        arm: (harness, at) => {
          const { hit, struck } = countdown(at, times);
          const match: FaultRule["match"] = ({ from, url }) =>
            from === "agent-devstack1" && url.startsWith("http") && hit();
          return { struck, heal: harness.world.network.inject({ fault, match }) };
        },
      });
      expect(requests).toBeGreaterThan(8);
    },
  }),
);

const meddling = Object.entries(MEDDLING).map(
  ([name, { action, heal, ends }]): ReturnFault => ({
    name: `${name}, before each step`,
    few: false,
    run: async (sample) => {
      const steps = await atEveryStep({
        ...(sample ? { sample } : {}),
        ...(ends ? { ends } : {}),
        arm: (harness, at) => {
          const { hit, struck } = countdown(at);
          let over = false;
          const step = async (host: string): Promise<void> => {
            if (host === "devstack1" && !over && hit()) {
              await action(harness);
            }
          };
          harness.beforeCall = step;
          harness.beforePlacement = step;
          const driver = meddled(harness.hypervisor("devstack1").driver(), () => step("devstack1"));
          return {
            struck,
            options: { ...PERIODIC, driver },
            heal: () => {
              over = true;
              heal?.(harness);
            },
          };
        },
      });
      expect(steps).toBeGreaterThan(30);
    },
  }),
);

const driver = Object.entries(DRIVER).map(
  ([name, fault]): ReturnFault => ({
    name: `${name}, at each of its calls`,
    few: true,
    run: async (sample) => {
      const calls = await atEveryStep({
        ...(sample ? { sample } : {}),
        arm: (harness, at) => {
          const { hit, struck } = countdown(at);
          const made = meddled(harness.hypervisor("devstack1").driver(), async () => {
            if (hit()) {
              await fault();
            }
          });
          return { struck, options: { ...PERIODIC, driver: made } };
        },
      });
      expect(calls).toBeGreaterThan(8);
    },
  }),
);

export const RETURN_FAULTS: readonly ReturnFault[] = [...network, ...meddling, ...driver];
