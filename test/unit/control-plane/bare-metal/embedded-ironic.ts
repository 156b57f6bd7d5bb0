import { createIronic, type IronicService } from "../../../../src/control-plane/bare-metal/ironic.js";
import { IRONIC_FAULTS } from "../../../../src/control-plane/bare-metal/provision-states.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import { FaultSet } from "../../../../src/faults/fault-set.js";
import { parseFaultRule } from "../../../../src/faults/faults.js";
import type { ServiceResponse } from "../../../../src/runtime/http-server.js";
import { type VirtualRuntime, VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../fixtures/empty-store.js";
import { ADMINISTRATOR } from "../../../fixtures/world/administrator.js";
import {
  type IronicClient,
  type IronicReply,
  type IronicRequest,
  replyOf,
} from "../../../peers/ironic/contract/client.js";

/** Milliseconds. */
const WAIT = 100;

/** The embedded Ironic in virtual time, called without a socket. */
export class EmbeddedIronic implements IronicClient {
  readonly root = "http://ironic.test/baremetal";
  readonly world: VirtualWorld;
  readonly store: Store;
  readonly #runtime: VirtualRuntime;
  #faults: FaultSet;
  #service: IronicService;

  static async open(): Promise<EmbeddedIronic> {
    const world = new VirtualWorld({ seed: 7 });
    const runtime = world.spawn({ name: "ironic" });
    return new EmbeddedIronic(world, runtime, emptyStore({ runtime }));
  }

  constructor(world: VirtualWorld, runtime: VirtualRuntime, store: Store) {
    this.world = world;
    this.store = store;
    this.#runtime = runtime;
    this.#faults = new FaultSet(runtime);
    this.#service = this.#create();
  }

  enrol(count: number): void {
    this.#service.enrol(count);
  }

  /** Simulates `kill -9` and a restart: only stored state remains. */
  restart(): void {
    this.#service.stop();
    this.#faults = new FaultSet(this.#runtime);
    this.#service = this.#create();
    this.#service.start();
  }

  /** @param faultRule `hardware.deploy=fail:once` */
  fault(faultRule: string): void {
    this.#faults.set(parseFaultRule(faultRule, IRONIC_FAULTS));
  }

  /** Clears all faults. */
  clear(): void {
    this.#faults.clear();
  }

  /** Kills the service and restarts it after this many milliseconds. */
  async whileDown(milliseconds: number): Promise<void> {
    this.#service.stop();
    await this.world.advance(milliseconds);
    this.restart();
  }

  /** Sends a body verbatim. */
  async askRaw(method: string, path: string, body: string): Promise<ServiceResponse> {
    const headers = { "x-auth-token": "admin", "x-openstack-ironic-api-version": "1.82" };
    const response = this.#service.handle({ method, path, query: "", headers, body, baseUrl: this.root });
    return this.world.runUntil(Promise.resolve(response));
  }

  /** Returns the unparsed response. @param token null sends none */
  async ask(request: IronicRequest, token: string | null = "admin"): Promise<ServiceResponse> {
    return this.world.runUntil(Promise.resolve(this.#handle(request, token)));
  }

  async sendAll(requests: readonly IronicRequest[]): Promise<readonly IronicReply[]> {
    const responses = await this.world.runUntil(Promise.all(requests.map((request) => this.#handle(request, "admin"))));
    return responses.map(({ status, headers, body }) => replyOf(status, headers, body));
  }

  async wait(): Promise<void> {
    await this.world.advance(WAIT);
  }

  async #handle(
    { method, path, body, version = "1.82" }: IronicRequest,
    token: string | null,
  ): Promise<ServiceResponse> {
    const [below = "", query = ""] = path.split("?");
    return this.#service.handle({
      method,
      path: below,
      query,
      headers: {
        ...(token === null ? {} : { "x-auth-token": token }),
        ...(version === null ? {} : { "x-openstack-ironic-api-version": version }),
        "content-type": "application/json",
      },
      body: body === undefined ? "" : JSON.stringify(body),
      baseUrl: this.root,
    });
  }

  #create(): IronicService {
    const tokens = new Map([
      ["admin", ADMINISTRATOR],
      ["demo", { ...ADMINISTRATOR, roles: ["member", "reader"] }],
    ]);
    return createIronic({
      ...this.#runtime,
      sql: this.store.database,
      validate: (token) => tokens.get(token),
      faults: this.#faults,
    });
  }
}
