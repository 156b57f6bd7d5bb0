import { compareBodies, type Difference, sortKeysOf } from "../../fixtures/neutron/comparison.js";
import { createDevstackNetworks } from "../../fixtures/neutron/devstack-networks.js";
import { Identifiers } from "../../fixtures/neutron/identifiers.js";
import { NEUTRON_CALLERS, type NeutronCaller, validateNeutronCaller } from "../../fixtures/neutron/neutron-callers.js";
import { NetworkHarness } from "../../unit/control-plane/network/network-harness.js";
import { type Comparison, type Kind, Kinds, kindsOf, type PeerResponse } from "../differential/kinds.js";
import { type KnownRecord, KnownRecords, type Members } from "../differential/known-records.js";
import { Random } from "../differential/random.js";
import { parseJson } from "../differential/send-request.js";
import { NEUTRON_KINDS } from "./neutron-kinds.js";
import { type RandomRequest, RandomRequests } from "./random-requests.js";
import { BASE, type RealNeutron } from "./real-neutron.js";
import { SUBJECTS } from "./subjects.js";

/** Sends the same random requests to the real Neutron and to the embedded service, and compares the responses. */
export class DifferentialRun {
  readonly #real: RealNeutron;
  readonly #log: (line: string) => void;
  readonly #harness = new NetworkHarness({}, validateNeutronCaller);
  readonly #identifiers = new Identifiers();
  readonly #records = new KnownRecords<NeutronCaller>(
    (owner, caller) => owner === caller || caller === "admin" || caller === "service",
  );
  readonly #requests: RandomRequests;
  readonly #kinds = new Kinds();
  readonly #statuses = new Map<number, number>();
  /** Attributes of records that are known to differ: a later response that has them again is no news. */
  readonly #knownDifferences = new Set<string>();

  /** @param log gets a line for each request */
  constructor(real: RealNeutron, seed: number, log: (line: string) => void = () => {}) {
    this.#real = real;
    this.#log = log;
    this.#requests = new RandomRequests(new Random(seed), this.#records);
  }

  get kinds(): readonly Kind[] {
    return this.#kinds.all;
  }

  /** The number of responses by status. */
  get summary(): string {
    const counts = [...this.#statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
    return `responses of the real Neutron: ${counts.join(", ")}`;
  }

  /** Creates devstack's networks in both. */
  async seedNetworks(): Promise<void> {
    for (const host of ["devstack1", "devstack2", "devstack3"]) {
      this.#harness.store.services.create({ host, binary: "nova-compute", topic: "compute", version: 73 });
    }
    await createDevstackNetworks(async (method, path, body) => {
      const theirs = await this.#real.send(method, `/v2.0${path}`, body, "admin");
      const ours = await this.#sendHere(method, `/v2.0${path}`, body, "admin");
      compareBodies(theirs.body, ours.body, this.#identifiers);
      this.#remember(path.split("/")[1] ?? "", theirs.body, "admin");
      return Object.values(theirs.body as Record<string, Members>)[0] ?? {};
    });
    // Creates the default groups, and pairs their ids.
    for (const caller of ["admin", "member", "other"] as const) {
      const [theirs, ours] = [
        await this.#real.send(
          "GET",
          `/v2.0/security-groups?project_id=${NEUTRON_CALLERS[caller].projectId}`,
          undefined,
          caller,
        ),
        await this.#sendHere(
          "GET",
          `/v2.0/security-groups?project_id=${NEUTRON_CALLERS[caller].projectId}`,
          undefined,
          caller,
        ),
      ];
      compareBodies(theirs.body, ours.body, this.#identifiers);
      this.#remember("security_groups", theirs.body, caller);
    }
  }

  /** Sends one random request to both. */
  async step(): Promise<void> {
    const request = this.#requests.next();
    const { method, path, body, caller, headers = {}, revision } = request;
    const [there, here] = revision ? await this.#revisions(revision.id, revision.plus) : [headers, headers];
    const theirs = await this.#real.send(method, path, body, caller, there);
    const ours = await this.#sendHere(method, path, body, caller, here);
    this.#statuses.set(theirs.status, (this.#statuses.get(theirs.status) ?? 0) + 1);
    const found = theirs.status === ours.status ? this.#compare(path, theirs.body, ours.body) : [];
    const differences = found.filter((difference) => this.#isNew(difference));
    this.#report({ request, theirs, ours, differences });
    await this.#follow(request, theirs, ours);
    if (theirs.status < 300 && /^(?:DELETE|PUT)$/.test(method) && HAS_ADDRESSES.test(path)) {
      await this.#pairAddresses();
    }
  }

  /** Pairs the addresses that ports have now: later ports can get released ones. */
  async #pairAddresses(): Promise<void> {
    this.#identifiers.forgetAddresses();
    const theirs = await this.#real.send("GET", "/v2.0/ports", undefined, "admin");
    const ours = await this.#sendHere("GET", "/v2.0/ports", undefined, "admin");
    compareBodies(theirs.body, ours.body, this.#identifiers);
  }

  /** Which records are on a page depends on their ids where the values of its sort keys are equal. */
  #compare(path: string, theirs: unknown, ours: unknown): readonly Difference[] {
    const isPage = /[?&]limit=[1-9]/.test(path);
    return isPage
      ? compareBodies(outlineOf(theirs), outlineOf(ours), this.#identifiers)
      : compareBodies(theirs, ours, this.#identifiers, sortKeysOf(path));
  }

  #isNew({ record, path }: Difference): boolean {
    const key = `${record} ${path.replace(/^[a-z_]+(?:\[\])?/, "")}`;
    const isNew = record === undefined || !this.#knownDifferences.has(key);
    this.#knownDifferences.add(key);
    return isNew;
  }

  #report(comparison: Comparison & { readonly request: RandomRequest }): void {
    const { request, theirs, ours, differences } = comparison;
    const body = this.#identifiers.translate(theirs.body);
    const sent = request.body === undefined ? "" : ` ${cut(this.#identifiers.translate(request.body))}`;
    const line = `${request.caller}: ${request.method} ${this.#identifiers.translateText(request.path)}${sent}`;
    this.#log(
      `${line} -> ${theirs.status} ${cut(body)}${theirs.status === ours.status ? "" : ` is ${ours.status} ${cut(ours.body)}`}`,
    );
    for (const [index, kind] of kindsOf(
      { ...comparison, theirs: { status: theirs.status, body } },
      NEUTRON_KINDS,
    ).entries()) {
      const found = theirs.status < 400 ? differences[index] : undefined;
      const [there, here] = found ? [found.theirs, found.ours] : [body, ours.body];
      this.#kinds.add(kind, `${line}: ${cut(there)} is ${cut(here)}`);
    }
  }

  /** Keeps the two in the same state, and remembers their records. */
  async #follow(request: RandomRequest, theirs: PeerResponse, ours: PeerResponse): Promise<void> {
    const { method, record, subject } = request;
    const isSame = theirs.status < 300 === ours.status < 300;
    if (method === "GET") {
      return;
    }
    if (isSame) {
      if (theirs.status >= 300) {
        return;
      }
      if (method === "DELETE" && record && request.path.endsWith(record.id)) {
        this.#records.remove(record.id);
      } else {
        const collection = method === "POST" ? subject.collection : (record?.collection ?? subject.collection);
        const parent = subject.parent === undefined ? undefined : request.path.replace(/\/[0-9a-f-]{36}$/, "");
        this.#remember(
          collection,
          theirs.body,
          request.caller,
          method === "POST" ? request.path : parent,
          subject.parent !== undefined,
        );
      }
      return;
    }
    await this.#discard(request, theirs, ours);
  }

  /** Removes what only one of the two has created or changed. */
  async #discard({ method, path, record }: RandomRequest, theirs: PeerResponse, ours: PeerResponse): Promise<void> {
    if (method === "POST") {
      for (const id of idsOf(theirs)) {
        await this.#real.send("DELETE", `${path}/${id}`, undefined, "admin");
      }
      for (const id of idsOf(ours)) {
        await this.#harness.send("DELETE", `/${this.#identifiers.translateUrl(path)}/${id}`, undefined, "admin");
      }
    } else if (record) {
      const trunks = this.#records.of("trunks").filter(({ attributes }) => attributes.port_id === record.id);
      for (const one of [...trunks, record]) {
        await this.#deleteBoth(one);
      }
    }
  }

  async #deleteBoth({ id, collection, parent }: Pick<KnownRecord, "id" | "collection" | "parent">): Promise<void> {
    this.#records.remove(id);
    const path = `${parent ?? SUBJECTS.find((subject) => subject.collection === collection)?.path}/${id}`;
    await this.#real.send("DELETE", path, undefined, "admin");
    await this.#sendHere("DELETE", path, undefined, "admin");
  }

  #remember(collection: string, body: unknown, caller: NeutronCaller, path?: string, isBelow = false): void {
    for (const value of Object.values((body ?? {}) as Members)) {
      for (const one of Array.isArray(value) ? value : [value]) {
        if (typeof one === "object" && one !== null && typeof Reflect.get(one, "id") === "string") {
          const attributes = one as Members;
          const id = String(attributes.id);
          const owner = this.#records.get(id)?.owner ?? caller;
          this.#records.add({
            id,
            collection,
            owner,
            attributes,
            ...(isBelow && path !== undefined && { parent: path }),
          });
        }
      }
    }
  }

  /** Returns headers with the current revisions of a record, there and here. */
  async #revisions(id: string, plus: number): Promise<readonly [Record<string, string>, Record<string, string>]> {
    const record = this.#records.get(id);
    const subject = SUBJECTS.find(({ collection }) => collection === record?.collection);
    if (subject === undefined) {
      const headers = { "if-match": `revision_number=${plus}` };
      return [headers, headers];
    }
    const path = `${record?.parent ?? subject.path}/${id}`;
    const [theirs, ours] = [
      await this.#real.send("GET", path, undefined, "admin"),
      await this.#sendHere("GET", path, undefined, "admin"),
    ];
    return [ifMatch(theirs, plus), ifMatch(ours, plus)];
  }

  async #sendHere(
    method: string,
    path: string,
    body: unknown,
    caller: NeutronCaller,
    headers?: Readonly<Record<string, string>>,
  ): Promise<PeerResponse> {
    const sent = typeof body === "string" ? body : this.#identifiers.translate(body);
    const reply = await this.#harness.send(method, `/${this.#identifiers.translateUrl(path)}`, sent, caller, headers);
    return { status: reply.status, body: parseJson(reply.body.replaceAll("http://127.0.0.1:8774/network", BASE)) };
  }
}

/** Paths of records whose deletes and changes can release addresses. */
const HAS_ADDRESSES = /^\/v2\.0\/(?:floatingips|local-ips|networks|ports|routers|subnets)\b/;

function ifMatch({ body }: PeerResponse, plus: number): Record<string, string> {
  const [record] = Object.values((body ?? {}) as Record<string, Members>);
  const revision = record?.revision_number;
  return typeof revision === "number" ? { "if-match": `revision_number=${revision + plus}` } : {};
}

function idsOf({ status, body }: PeerResponse): readonly string[] {
  const values = status < 300 ? Object.values((body ?? {}) as Members).flat() : [];
  return values.flatMap((one) => {
    const id: unknown = typeof one === "object" && one !== null ? Reflect.get(one, "id") : undefined;
    return typeof id === "string" ? [id] : [];
  });
}

/** Returns the number of records on a page, and its links without markers. */
function outlineOf(page: unknown): unknown {
  const outline = (name: string, value: unknown) => {
    if (!Array.isArray(value)) {
      return value;
    }
    return name.endsWith("_links")
      ? JSON.parse(JSON.stringify(value).replace(/marker=[^&"]*/g, "marker"))
      : value.length;
  };
  const entries = Object.entries((page ?? {}) as Members);
  return Object.fromEntries(entries.map(([name, value]) => [name, outline(name, value)]));
}

const cut = (value: unknown): string => String(JSON.stringify(value)).slice(0, 500);
