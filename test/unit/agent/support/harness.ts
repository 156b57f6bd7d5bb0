import { driver as libvirt } from "../../../../drivers/fake-libvirt/index.js";
import type { AgentState } from "../../../../src/agent/context.js";
import { dryRun } from "../../../../src/agent/dry-run/dry-run.js";
import type { DryRunReport } from "../../../../src/agent/dry-run/report.js";
import type { Agent, AgentOptions } from "../../../../src/agent/lifecycle/agent.js";
import type { ServiceFactories } from "../../../../src/agent/lifecycle/create-services.js";
import { type AgentMetrics, NO_METRICS } from "../../../../src/agent/metrics/metrics.js";
import { type StartupRejection, toStartupRejection } from "../../../../src/agent/rejections.js";
import { createResourceTracker } from "../../../../src/agent/tracker/resource-tracker.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import type { ReportClient } from "../../../../src/placement-client/report-client.js";
import {
  type ComputeNode,
  type Instance,
  type Resources,
  SERVICE_VERSION,
  type Service,
} from "../../../../src/records/index.js";
import type { ServiceHandler } from "../../../../src/runtime/http-server.js";
import { type VirtualRuntime, VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import type { DriverDefinition } from "../../../../src/virt/index.js";
import { adapterUnderTest } from "../../../fixtures/adapter-under-test.js";
import { type InProcessConductor, startInProcessConductor } from "../../../fixtures/in-process-conductor.js";
import type { DriverCall } from "../../../fixtures/invariants/entry.js";
import { Evidence } from "../../../fixtures/invariants/evidence.js";
import { LibvirtHosts } from "../../../fixtures/invariants/libvirt-hosts.js";
import { watchDriver } from "../../../fixtures/invariants/watch-driver.js";
import { watchHttp } from "../../../fixtures/invariants/watch-http.js";
import { watchSession } from "../../../fixtures/invariants/watch-session.js";
import { watchTracker } from "../../../fixtures/invariants/watch-tracker.js";
import { holdToInvariants, type Judgement } from "../../../fixtures/invariants.js";
import type { NovaAdapter } from "../../../fixtures/nova-conductor/nova-conductor.js";
import { agentOptions, driverConfigOf, testAgent } from "../../../fixtures/world/agent.js";
import { type ConfigChanges, novaConfig } from "../../../fixtures/world/nova-config.js";
import { TestPlacement } from "../../../fixtures/world/placement.js";
import { reportClientOf } from "../../../fixtures/world/report-client.js";
import { Hypervisor } from "./hypervisor.js";
import { type BeforeCall, recordSession } from "./recorded-session.js";
import { type OperationOverrides, recordingOperations } from "./recording-operations.js";
import { AMOUNTS, NODE_RESOURCES, PROJECT, USER } from "./records.js";

export interface HostOptions {
  readonly hypervisor?: Hypervisor;
  /** Default: `/state/<host>`. */
  readonly statePath?: string;
  readonly configFiles?: readonly string[];
  readonly config?: ConfigChanges;
  readonly metrics?: Partial<AgentMetrics>;
  readonly faults?: AgentOptions["faults"];
  readonly driverName?: string;
  readonly changeDriver?: boolean;
  readonly factories?: Pick<Partial<ServiceFactories>, "tracker">;
  /** Replaces the hypervisor's driver. */
  readonly driver?: DriverDefinition;
  /** Name of the process; default: `agent-<host>`. */
  readonly process?: string;
  /** Default: operations that only record their calls. */
  readonly operations?: OperationOverrides | "real";
}

/** One run of an agent, from its start to its end. */
export interface Run {
  readonly agent: Agent;
  readonly runtime: VirtualRuntime;
  readonly states: AgentState[];
  /** Calls of the operations: `method instance`. */
  readonly operations: string[];
}

interface HarnessOptions extends Judgement {
  /** The Nova that agents connect to; default: that of the tests' project, if it has one. */
  readonly nova?: NovaAdapter | undefined;
}

/** A control plane and hypervisors in virtual time, on which agents are started, killed and restarted. */
export class Harness {
  readonly world: VirtualWorld;
  readonly store: Store;
  readonly controlPlane: InProcessConductor;
  /** Called before each call of an agent to the conductor or to another agent; its error becomes the call's. */
  beforeCall: BeforeCall = () => {};
  /** Called after each such call that succeeded. */
  afterCall: BeforeCall = () => {};
  /** Called before Placement processes a request of a host. */
  beforePlacement: (host: string, request: string) => void | Promise<void> = () => {};
  /** Called after Placement processed a request of a host. */
  afterPlacement: (host: string, request: string) => void = () => {};
  readonly evidence: Evidence;
  readonly hypervisors = new Map<string, Hypervisor>();
  readonly #placement: TestPlacement;
  readonly #control: VirtualRuntime;
  /** Hypervisors in files, whose driver does not record its calls. */
  readonly #libvirt: LibvirtHosts;
  /** Host → the nodes that its driver listed last. */
  readonly #listed = new Map<string, readonly string[]>();
  readonly #endpoints = new Map<string, string>();

  private constructor(world: VirtualWorld, controlPlane: InProcessConductor) {
    const control = world.spawn({ name: "placement" });
    this.world = world;
    this.controlPlane = controlPlane;
    this.store = controlPlane.store;
    this.#control = control;
    this.#placement = new TestPlacement(control);
    this.evidence = new Evidence(this.store);
    this.#libvirt = new LibvirtHosts(control);
  }

  /** Creates the harness of the current test; the invariants are checked after every step of its agents. */
  static async create({ nova = adapterUnderTest(), ...judgement }: HarnessOptions = {}): Promise<Harness> {
    const world = new VirtualWorld({ seed: 7 });
    const harness = new Harness(world, await startInProcessConductor(world, { nova }));
    holdToInvariants(harness.evidence, { overNova: nova !== undefined, ...judgement });
    return harness;
  }

  hypervisor(host: string): Hypervisor {
    let found = this.hypervisors.get(host);
    if (!found) {
      found = this.attach(host, new Hypervisor(host));
    }
    return found;
  }

  /** Sets the hypervisor that an agent of `host` uses. */
  attach(host: string, hypervisor: Hypervisor): Hypervisor {
    this.hypervisors.set(host, hypervisor);
    hypervisor.onCall = (call) => this.evidence.driverCall(call, this.hypervisors);
    return hypervisor;
  }

  async prepare(host: string, options: HostOptions = {}) {
    const lease = !(options.config?.quirks ?? []).includes("no-host-lease");
    const process = options.process ?? `agent-${host}`;
    const { runtime, connection, session } = this.controlPlane.agent(host, { process, lease });
    await this.world.runUntil(connection.connected());
    const placement = await this.placementFor(host, runtime);
    const hypervisor = options.hypervisor ?? this.hypervisor(host);
    const driver = options.driver ?? hypervisor.driver(options.driverName);
    const compiled = novaConfig(host, options.statePath ?? `/state/${host}`, options.config ?? {}, driver);
    return {
      runtime,
      connection,
      parts: {
        host,
        compiled,
        ...(options.changeDriver === undefined ? {} : { changeDriver: options.changeDriver }),
        configFiles: options.configFiles ?? [],
        runtime,
        session: recordSession(
          watchSession(session, this.evidence),
          (...call) => this.beforeCall(...call),
          (...call) => this.afterCall(...call),
        ),
        driver: this.#watchedDriver(host, driver, driverConfigOf(compiled, driver)),
        placement,
        serviceVersion: connection.serviceVersion,
      },
    };
  }

  #watchedDriver(host: string, driver: DriverDefinition, config: Readonly<Record<string, unknown>>): DriverDefinition {
    const listed = (nodes: readonly string[]) => this.#listed.set(host, nodes);
    if (driver.name !== libvirt.name) {
      return watchDriver(driver, { host, listed });
    }
    this.#libvirt.add(host, config);
    const changes = async (call: DriverCall) => this.evidence.driverCall(call, await this.#libvirt.views(host));
    return watchDriver(driver, { host, listed, changes });
  }

  async launch(host: string, options: HostOptions = {}): Promise<Run> {
    const prepared = await this.prepare(host, options);
    const operations: string[] = [];
    const operationOverrides = options.operations;
    const agent = testAgent({
      ...prepared.parts,
      ...(options.faults ? { faults: options.faults } : {}),
      metrics: { ...NO_METRICS, ...options.metrics },
      factories: {
        tracker: this.watchedTracker(host, prepared.runtime, options),
        ...(operationOverrides === "real"
          ? {}
          : { operations: (context) => recordingOperations(context, operations, operationOverrides) }),
      },
    });
    const states: AgentState[] = [];
    agent.onState((state) => {
      states.push(state);
      this.evidence.state(host, state, agent.failure);
    });
    this.evidence.started(host);
    return { agent, runtime: prepared.runtime, states, operations };
  }

  /** Creates trackers whose passes and counts are recorded in the evidence. */
  watchedTracker(host: string, runtime: VirtualRuntime, options: HostOptions = {}): ServiceFactories["tracker"] {
    const make = options.factories?.tracker ?? createResourceTracker;
    return async (context) =>
      watchTracker(await make(context), {
        context,
        evidence: this.evidence,
        placement: this.#placement.handle,
        reported: () => this.#listed.get(host) ?? [],
        logs: () => runtime.logs,
        alive: () => runtime.alive,
        probes: true,
      });
  }

  /** Starts an agent and waits until it serves. */
  async start(host: string, options: HostOptions = {}): Promise<Run> {
    const run = await this.launch(host, options);
    await this.world.runUntil(run.agent.start());
    return run;
  }

  /** Starts an agent whose start is expected to be rejected. */
  async expectRejection(
    host: string,
    options: HostOptions = {},
  ): Promise<StartupRejection & { readonly message: string }> {
    const error = await this.failure(host, options);
    const rejection = toStartupRejection(error);
    if (!rejection) {
      throw error;
    }
    return { ...rejection, message: error.message };
  }

  async failure(host: string, options: HostOptions = {}): Promise<Error> {
    const run = await this.launch(host, options);
    const outcome = run.agent.start().then(
      () => new Error(`the agent of ${host} started`),
      (error: Error) => error,
    );
    return this.world.runUntil(outcome);
  }

  async dryRun(host: string, options: HostOptions = {}): Promise<DryRunReport> {
    const prepared = await this.prepare(host, options);
    return this.world.runUntil(dryRun(agentOptions(prepared.parts)));
  }

  /** As `kill -9`; the control plane detects it immediately. */
  kill(run: Run): void {
    run.runtime.kill();
  }

  async stop(run: Run): Promise<void> {
    await this.world.runUntil(run.agent.stop());
  }

  /** Creates a host that was in service before: service, node, provider and identity file, with no agent running. */
  async seed(host: string): Promise<{ readonly service: Service; readonly node: ComputeNode }> {
    const run = await this.start(host);
    await this.stop(run);
    run.runtime.kill();
    const service = this.store.services.getByHost(host, "nova-compute");
    const [node] = this.store.computeNodes.byHost(host);
    if (!service || !node) {
      throw new Error(`${host} did not register`);
    }
    return { service, node };
  }

  /** Creates only a service row. */
  addService(host: string, version = SERVICE_VERSION): Service {
    return this.store.services.create({ host, binary: "nova-compute", topic: "compute", version });
  }

  addNode(service: Service, uuid: string, hypervisorHostname: string): ComputeNode {
    const { host, id } = service;
    return this.store.computeNodes.create({ host, serviceId: id, uuid, hypervisorHostname, resources: NODE_RESOURCES });
  }

  /** Writes a file of the machine that all hosts share. */
  async write(path: string, text: string): Promise<void> {
    await this.#control.files.write(path, text);
  }

  async read(path: string): Promise<string | undefined> {
    return this.#control.files.readIfPresent(path);
  }

  async traits(providerName: string): Promise<readonly string[]> {
    const { resource_providers: found } = this.#ask("GET", "/resource_providers");
    const uuid = (found as { name: string; uuid: string }[]).find(({ name }) => name === providerName)?.uuid;
    return this.#ask("GET", `/resource_providers/${uuid}/traits`).traits as string[];
  }

  async list(folder: string): Promise<readonly string[]> {
    return this.#control.files.list(folder);
  }

  async remove(path: string): Promise<void> {
    await this.#control.files.remove(path);
  }

  /** Returns the generation of a provider. */
  async generation({ uuid }: ComputeNode): Promise<number> {
    return Number(this.#ask("GET", `/resource_providers/${uuid}`).generation);
  }

  /** Allocates the amounts of the flavor on each of the nodes. */
  async allocate(consumer: string, ...nodes: readonly ComputeNode[]): Promise<void> {
    await this.hold(consumer, Object.fromEntries(nodes.map(({ uuid }) => [uuid, AMOUNTS])));
  }

  /** Sets the consumer's allocations to exactly these: provider uuid → amounts. */
  async hold(consumer: string, amounts: Readonly<Record<string, Resources>>): Promise<void> {
    const held = this.#ask("GET", `/allocations/${consumer}`);
    const response = this.#ask("PUT", `/allocations/${consumer}`, {
      allocations: Object.fromEntries(Object.entries(amounts).map(([uuid, resources]) => [uuid, { resources }])),
      project_id: PROJECT,
      user_id: USER,
      consumer_generation: held.consumer_generation ?? null,
    });
    if (response.errors) {
      throw new Error(JSON.stringify(response));
    }
    this.evidence.holds(consumer, amounts);
  }

  /** Provider uuid → amounts. */
  async held(consumer: string): Promise<Record<string, unknown>> {
    const { allocations } = this.#ask("GET", `/allocations/${consumer}`);
    return Object.fromEntries(
      Object.entries(allocations as Record<string, { resources: unknown }>).map(([uuid, { resources }]) => [
        uuid,
        resources,
      ]),
    );
  }

  async providers(): Promise<readonly string[]> {
    const { resource_providers: found } = this.#ask("GET", "/resource_providers");
    return (found as { name: string }[]).map(({ name }) => name);
  }

  /** Returns the uuid of a provider. */
  providerNamed(name: string): string | undefined {
    return this.#allProviders().find((provider) => provider.name === name)?.uuid;
  }

  nameOfProvider(uuid: string): string | undefined {
    return this.#allProviders().find((provider) => provider.uuid === uuid)?.name;
  }

  #allProviders(): readonly { readonly name: string; readonly uuid: string }[] {
    return this.#ask("GET", "/resource_providers").resource_providers as { name: string; uuid: string }[];
  }

  /** Deletes a provider, as an administrator would. */
  async removeProvider(name: string): Promise<void> {
    this.#ask("DELETE", `/resource_providers/${this.providerNamed(name)}`);
  }

  /** Adds a trait as an operator would, with a current generation; does nothing if the provider is missing. */
  async addTrait(providerName: string, trait: string): Promise<void> {
    const { resource_providers: found } = this.#ask("GET", "/resource_providers");
    const uuid = (found as { name: string; uuid: string }[]).find(({ name }) => name === providerName)?.uuid;
    this.#ask("PUT", `/traits/${trait}`);
    const { traits, resource_provider_generation } = this.#ask("GET", `/resource_providers/${uuid}/traits`);
    if (!Array.isArray(traits)) {
      return;
    }
    this.#ask("PUT", `/resource_providers/${uuid}/traits`, {
      resource_provider_generation,
      traits: [...new Set([...traits, trait])],
    });
  }

  instance(uuid: string): Instance {
    const found = this.store.instances.get(uuid, { readDeleted: true });
    if (!found) {
      throw new Error(`no instance ${uuid}`);
    }
    return found;
  }

  /** Creates the Placement client of a process; its requests are recorded as those of `name`. */
  async placementFor(name: string, { http, clock, timers, random, logger }: VirtualRuntime): Promise<ReportClient> {
    const endpoint = await this.#endpoint(name);
    const watched = watchHttp(http, (request, status) => this.evidence.placementResponded(name, request, status));
    return reportClientOf(endpoint, { http: watched, clock, timers, random, logger });
  }

  async #endpoint(host: string): Promise<string> {
    let endpoint = this.#endpoints.get(host);
    if (!endpoint) {
      const handler: ServiceHandler = async (request) => {
        await this.beforePlacement(host, `${request.method} ${request.path}`);
        const before = await this.evidence.beforePlacement(request, this.#placement.handle);
        const response = this.#placement.handle(request);
        await this.evidence.afterPlacement(host, request, response, before, this.#placement.handle);
        this.afterPlacement(host, `${request.method} ${request.path}`);
        return response;
      };
      const listener = await this.#control.servers.listen({ port: 0, services: { "": handler } });
      endpoint = listener.url;
      this.#endpoints.set(host, endpoint);
    }
    return endpoint;
  }

  /** Renames a provider in Placement, as an operator does. */
  renameProvider(uuid: string, name: string): void {
    this.#ask("PUT", `/resource_providers/${uuid}`, { name });
  }

  /** Returns the body of the response, whatever its status. */
  #ask(method: "GET" | "PUT" | "DELETE", path: string, body?: unknown): Record<string, unknown> {
    const { body: text } = this.#placement.send(method, path, body, "1.28");
    return text === "" ? {} : JSON.parse(text);
  }
}
