import { type Instance, InstanceNotRunning } from "../../src/virt/index.js";
import type { DomainState } from "./domain.js";
import { domainName } from "./new-domain.js";

/** The change to a state that only a guest can take that runs, paused or not. */
export function active(targetState: DomainState, instance: Instance): (state: DomainState) => DomainState {
  return (state) => {
    if (state === "running" || state === "paused" || state === targetState) {
      return targetState;
    }
    throw new InstanceNotRunning(`guest ${domainName(instance)} (${instance.uuid}) is ${state}, expected running`);
  };
}
