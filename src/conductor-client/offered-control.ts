import type { Logger } from "../runtime/runtime.js";
import { ConductorError, InvalidParameters } from "./errors.js";
import type { Link } from "./link.js";
import { type ControlledHost, HOST_ACTIONS, type HostAction, MAX_ANNOUNCED_HOSTS } from "./methods/session.js";
import type { HostController } from "./port.js";
import { encodeError } from "./wire/error-codec.js";
import type { Outcome, RequestFrame } from "./wire/frames.js";

/** Milliseconds that an announcement may take. */
const TIMEOUT = 8_000;

/** Announces which hosts can be controlled over a connection, and hands what is asked to who controls them. */
export class OfferedControl {
  readonly #controller: HostController;
  readonly #logger: Logger;
  /** By name, as they are now. */
  readonly #hosts = new Map<string, ControlledHost>();
  /** Changed since the last announcement. */
  readonly #changed = new Set<string>();

  constructor(controller: HostController, logger: Logger) {
    this.#controller = controller;
    this.#logger = logger;
  }

  /** Notes a change; many of one turn are told together. @param link absent: it is told on the next one */
  notify(host: ControlledHost, link: Link | undefined): void {
    this.#hosts.set(host.host, host);
    const first = this.#changed.size === 0;
    this.#changed.add(host.host);
    if (first) {
      void Promise.resolve().then(() => {
        const hosts = [...this.#changed].flatMap((name) => this.#hosts.get(name) ?? []);
        this.#changed.clear();
        this.#send(hosts, link);
      });
    }
  }

  /** Tells all of them on a new link. */
  announce(link: Link): void {
    this.#send([...this.#hosts.values()], link);
  }

  async take({ id, params = {} }: RequestFrame, link: Link): Promise<void> {
    const outcome = await this.#outcome(params);
    if (id !== undefined && link.open) {
      link.send({ jsonrpc: "2.0", id, ...outcome });
    }
  }

  async #outcome({ host, action }: Readonly<Record<string, unknown>>): Promise<Outcome> {
    try {
      if (!this.#hosts.has(String(host)) || !isAction(action)) {
        throw new InvalidParameters(`found host ${String(host)} and action ${String(action)}, which are not offered`);
      }
      return { result: await this.#controller.control(String(host), action) };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { error: encodeError(error instanceof ConductorError ? error : new ConductorError(message)) };
    }
  }

  #send(hosts: readonly ControlledHost[], link: Link | undefined): void {
    for (let from = 0; from < hosts.length; from += MAX_ANNOUNCED_HOSTS) {
      const part = hosts.slice(from, from + MAX_ANNOUNCED_HOSTS);
      // One without an answer is made again on the next link; a conductor of an earlier release knows of no such thing.
      link?.request("hosts_controlled", { hosts: part }, { timeout: TIMEOUT }).catch((err: unknown) => {
        this.#logger.debug("what hosts can be controlled was not taken", { err });
      });
    }
  }
}

function isAction(action: unknown): action is HostAction {
  return (HOST_ACTIONS as readonly unknown[]).includes(action);
}
