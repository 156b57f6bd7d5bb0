import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { RealNova } from "../peers/real-nova/real-nova.js";

/** A message to the conductor. Only computes request objects, and only from the conductor. */
interface ConductorCall {
  readonly t: number;
  readonly what: string;
  /** True for a user's request; false for a start or a periodic task. */
  readonly forUser: boolean;
}

/** Messages of nova-computes to the conductor with their times, from the broker. */
export class NovaCalls {
  readonly #nova: RealNova;
  #lines = 0;

  private constructor(nova: RealNova) {
    this.#nova = nova;
  }

  static async record(nova: RealNova): Promise<NovaCalls> {
    await nova.plane.script("firehose", ["on"]);
    await pause(1_500);
    return new NovaCalls(nova);
  }

  /** Like {@link during}, but only for users: a host's periodic task may run during the work. */
  async forUsers(work: () => Promise<unknown>): Promise<readonly ConductorCall[]> {
    return (await this.during(work)).filter(({ forUser }) => forUser);
  }

  /** Returns the messages during `work` and `after` milliseconds later, without heartbeats. */
  async during(work: () => Promise<unknown>, after = 3_000): Promise<readonly ConductorCall[]> {
    this.#lines = (await this.#read()).length;
    await work();
    await pause(after);
    return (await this.#read()).slice(this.#lines).flatMap(toConductor);
  }

  async stop(): Promise<void> {
    await this.#nova.plane.script("firehose", ["off"]);
  }

  async #read(): Promise<readonly string[]> {
    const path = join(this.#nova.plane.state, "http", "rpc.jsonl");
    return (await readFile(path, "utf8").catch(() => "")).split("\n").slice(0, -1);
  }
}

interface Traced {
  readonly t: number;
  readonly routing_keys: readonly string[] | null;
  readonly body: { readonly "oslo.message"?: Message };
}
interface Message {
  readonly method?: string;
  readonly _context_user_id?: string | null;
  readonly args?: {
    readonly objname?: string;
    readonly objmethod?: string;
    readonly objinst?: { readonly "nova_object.name": string; readonly "nova_object.changes"?: readonly string[] };
  };
}

function toConductor(line: string): ConductorCall[] {
  const { t, routing_keys, body } = JSON.parse(line) as Traced;
  const { method, args = {}, _context_user_id: user = null } = body?.["oslo.message"] ?? {};
  if (routing_keys?.[0] !== "conductor" || method === undefined || !/^object_/.test(method)) {
    return [];
  }
  const what = `${args.objname ?? args.objinst?.["nova_object.name"]}.${args.objmethod}`;
  const beat = what === "Service.save" && String(args.objinst?.["nova_object.changes"]) === "report_count";
  return beat ? [] : [{ t, what, forUser: user !== null }];
}
