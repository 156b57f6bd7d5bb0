import { driver as fakeLibvirt } from "../../../../drivers/fake-libvirt/index.js";
import {
  type DriverContext,
  type DriverDefinition,
  defineDriver,
  type VirtDriver,
} from "../../../../src/virt/index.js";

/** A correct driver that implements every method. */
export type Right = Required<VirtDriver>;

/** The changed methods of one broken driver. Called for each driver, so that its variables are an agent's memory. */
export type Flaw = (right: Right, context: DriverContext) => Readonly<Record<string, unknown>>;

/** Flaws by the code of the rule that each violates. */
export type Flaws = Readonly<Record<string, Flaw>>;

/** Creates a correct driver with one flaw. */
export function brokenBy(flaw: Flaw, healthy: DriverDefinition = fakeLibvirt): DriverDefinition {
  return defineDriver({
    ...healthy,
    create: async (context) => {
      const fullDriver = (await healthy.create(context)) as Right;
      const right = new Proxy(fullDriver, { get: (target, name) => bound(target, name) });
      const otherwise = flaw(right, context);
      return new Proxy(fullDriver, {
        get: (target, name) => (typeof name === "string" && name in otherwise ? otherwise[name] : bound(target, name)),
        has: (target, name) => name in otherwise || name in target,
      });
    },
  });
}

function bound(target: object, name: string | symbol): unknown {
  const member: unknown = Reflect.get(target, name, target);
  return typeof member === "function" ? member.bind(target) : member;
}

export const nothing = async (): Promise<void> => {};

/** Ignores errors. */
export function swallowing<Args extends unknown[]>(method: (...args: Args) => Promise<unknown>) {
  return async (...args: Args): Promise<void> => {
    await method(...args).catch(nothing);
  };
}

export class Complaint extends Error {}
