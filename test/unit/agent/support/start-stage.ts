import type { AgentServices } from "../../../../src/agent/services.js";
import { FlowStage, type StageOptions } from "./flow-stage.js";

export interface StartOptions extends StageOptions {
  readonly compute?: Readonly<Record<string, unknown>>;
}

/** A start of host `here` with the recording substitutes of a {@link FlowStage}; its operations are only recorded. */
export class StartStage extends FlowStage {
  readonly services: AgentServices;

  constructor(options: StartOptions = {}) {
    super(options);
    const { context, tracker } = this;
    const outgoing = { has: (uuid: string) => this.outgoing.has(uuid) };
    const exclusively = async (uuid: string, work: () => Promise<void>) => {
      this.lines.push(["operations.exclusively", uuid]);
      await work();
    };
    this.services = {
      ...context,
      logger: context.runtime.logger,
      tracker,
      identity: this.createRecordingProxy("identity", { path: "/state/compute_id" }),
      driverRecord: this.createRecordingProxy("driverRecord", { path: "/state/driver" }),
      metrics: this.createRecordingProxy("metrics"),
      operations: this.createRecordingProxy("operations", { outgoing, exclusively }),
    } as unknown as AgentServices;
  }

  /** Instances whose live migration this process works on. */
  readonly outgoing = new Set<string>();
}
