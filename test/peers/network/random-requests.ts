import { NEUTRON_CALLERS, type NeutronCaller } from "../../fixtures/neutron/neutron-callers.js";
import type { KnownRecord, KnownRecords, Members } from "../differential/known-records.js";
import type { Random } from "../differential/random.js";
import type { BodySource, Subject } from "./subject.js";
import { SUBJECTS } from "./subjects.js";

/** A request in terms of the real Neutron's ids. */
export interface RandomRequest {
  readonly caller: NeutronCaller;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Both services have their own revision: the header names that of the record, plus this number. */
  readonly revision?: { readonly id: string; readonly plus: number };
  readonly subject: Subject;
  /** The record of the path. */
  readonly record?: KnownRecord;
  /** `/v2.0/networks/{id}/tags` */
  readonly template: string;
}

const JUNK: readonly unknown[] = [
  null,
  true,
  "",
  "text",
  0,
  -1,
  1.5,
  99999999999,
  [],
  {},
  ["a", "a"],
  [{}],
  { a: 1 },
  "x".repeat(300),
  "00000000-0000-4000-8000-000000000000",
  "10.0.0.0/8",
];

const CALLERS: readonly (readonly [number, NeutronCaller])[] = [
  [42, "admin"],
  [38, "member"],
  [12, "other"],
  [4, "reader"],
  [4, "service"],
];

const FORBIDDEN_TO_CHOOSE = ["id", "status", "created_at", "revision_number", "shared", "bogus", "tenant_id", "name"];

type Operation = "create" | "update" | "delete" | "show" | "list" | "action" | "tags" | "odd";

/** Creates random requests about the records that both Neutrons have. */
export class RandomRequests {
  readonly #random: Random;
  readonly #records: KnownRecords<NeutronCaller>;
  #count = 0;

  constructor(random: Random, records: KnownRecords<NeutronCaller>) {
    this.#random = random;
    this.#records = records;
  }

  next(): RandomRequest {
    const random = this.#random;
    const caller = random.weighted(CALLERS);
    const subject = random.weighted(SUBJECTS.map((subject) => [subject.weight, subject]));
    const parent = subject.parent && this.#records.pickId(random, subject.parent, caller);
    const path = subject.path.replace("{parent}", parent ?? "");
    const template = subject.path.replace("{parent}", "{id}");
    const record = this.#recordOf(subject, path, caller);
    const operation = record === undefined ? random.weighted(WITHOUT_RECORD) : random.weighted(WITH_RECORD);
    return this.#request(operation, { subject, caller, path, template, ...(record && { record }) });
  }

  #recordOf({ collection, parent }: Subject, path: string, caller: NeutronCaller): KnownRecord | undefined {
    const record = this.#records.pick(this.#random, collection, caller);
    return parent !== undefined && record?.parent !== path ? undefined : record;
  }

  #request(
    operation: Operation,
    place: Pick<RandomRequest, "subject" | "caller" | "path" | "template" | "record">,
  ): RandomRequest {
    const random = this.#random;
    const { subject, path, template, record } = place;
    const source: BodySource = { random, records: this.#records, caller: place.caller, count: () => ++this.#count };
    const id = record?.id ?? "00000000-0000-4000-8000-000000000000";
    const one = { ...place, path: `${path}/${id}`, template: `${template}/{id}` };
    switch (operation) {
      case "create":
        return { ...place, method: "POST", body: this.#body(subject, subject.create?.(source) ?? {}) };
      case "update":
        return {
          ...one,
          method: "PUT",
          body: this.#body(subject, subject.update?.(source, record?.attributes ?? {}) ?? { name: "x" }),
          ...this.#ifMatch(id),
        };
      case "delete":
        if (record?.attributes["router:external"] === true) {
          // Neutron deletes its floating IPs even if the network is in use.
          return { ...one, method: "GET" };
        }
        return { ...one, method: "DELETE", ...this.#ifMatch(id) };
      case "show":
        return { ...one, method: "GET", path: one.path + this.#fields(record) };
      case "list":
        return { ...place, method: "GET", path: path + this.#listQuery(subject, record) };
      case "action":
        return this.#action(one, source);
      case "tags":
        return this.#tags(one);
      case "odd":
        return { ...place, ...random.pick(this.#oddRequests(subject, path, template, id)) };
    }
  }

  #body({ singular, collection, parent }: Subject, attributes: Members): unknown {
    const random = this.#random;
    let sent: Members = attributes;
    if (random.chance(0.1)) {
      const names = Object.keys(attributes);
      const name = names.length > 0 && random.chance(0.75) ? random.pick(names) : random.pick(FORBIDDEN_TO_CHOOSE);
      const value = random.pick(JUNK);
      // Neutron makes a network for the agents of routers with ha.
      sent = { ...attributes, [name]: name === "ha" && value === true ? false : value };
    }
    if (random.chance(0.025)) {
      const [, ...rest] = Object.entries(sent);
      sent = Object.fromEntries(rest);
    }
    if (random.chance(0.015)) {
      return random.pick<unknown>([
        "{",
        "[]",
        {},
        { [singular]: null },
        { [singular]: [] },
        { bogus: {} },
        { [collection]: [] },
        { [collection]: "ab" },
        sent,
      ]);
    }
    // Neutron creates records of sub-resources one after the other.
    const isBulk = parent === undefined && random.chance(0.02) && this.#canRepeat(collection, sent);
    return isBulk ? { [collection]: [sent, sent] } : { [singular]: sent };
  }

  /**
   * Neutron fails if a request creates several address scopes or address groups, or ports with addresses of a SLAAC subnet.
   * Which of several errors it names for two ports with the same addresses is open.
   */
  #canRepeat(collection: string, { network_id: network, mac_address: mac, fixed_ips: addresses }: Members): boolean {
    const isSlaac = this.#records
      .of("subnets")
      .some(({ attributes }) => attributes.network_id === network && attributes.ipv6_address_mode === "slaac");
    return (
      collection !== "address_groups" &&
      collection !== "address_scopes" &&
      (collection !== "ports" || !(isSlaac || mac !== undefined || addresses !== undefined))
    );
  }

  #ifMatch(id: string): Partial<RandomRequest> {
    const random = this.#random;
    if (random.chance(0.9)) {
      return {};
    }
    return random.pick<Partial<RandomRequest>>([
      { revision: { id, plus: 0 } },
      { revision: { id, plus: 1 } },
      { headers: { "if-match": "bogus" } },
      { headers: { "if-match": "revision_number=x" } },
      { headers: { "if-match": "*" } },
    ]);
  }

  #fields(record: KnownRecord | undefined): string {
    const names = Object.keys(record?.attributes ?? {});
    return names.length === 0 || this.#random.chance(0.7)
      ? ""
      : `?fields=${this.#random.pick(names)}&fields=${this.#random.pick([...names, "bogus"])}`;
  }

  #listQuery({ filters = [] }: Subject, record: KnownRecord | undefined): string {
    const random = this.#random;
    const query: [string, string][] = [];
    while (filters.length > 0 && random.chance(0.55) && query.length < 3) {
      const name = random.pick(filters);
      query.push([name, this.#filterValue(name, record)]);
    }
    if (random.chance(0.03)) {
      query.push(
        random.pick([
          ["bogus", "1"],
          ["name", ""],
          ["shared", "x"],
          ["admin_state_up", "x"],
          ["sort_key", "bogus"],
        ]),
      );
    }
    if (random.chance(0.25)) {
      query.push(
        ["sort_key", random.pick(["name", "name", "id", "status", "bogus"])],
        ["sort_dir", random.pick(["asc", "desc", "asc", "up"])],
      );
    }
    if (random.chance(0.12)) {
      query.push(["limit", random.pick(["1", "2", "3", "0", "-1", "x"])]);
      if (!query.some(([name]) => name === "sort_key")) {
        query.push(["sort_key", "name"], ["sort_dir", "asc"]);
      }
      if (record && random.chance(0.5)) {
        query.push(["marker", random.chance(0.9) ? record.id : "none"]);
      }
      if (random.chance(0.25)) {
        query.push(["page_reverse", "True"]);
      }
    }
    if (random.chance(0.12)) {
      query.push(["fields", random.pick(["id", "name", "project_id", "bogus"])]);
    }
    return query.length === 0
      ? ""
      : `?${query.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&")}`;
  }

  #filterValue(name: string, record: KnownRecord | undefined): string {
    const random = this.#random;
    const value = record?.attributes[name];
    if (name === "fixed_ips" || name === "security_groups") {
      return this.#memberFilter(name, value);
    }
    if (name.includes("tags")) {
      return random.pick(["red", "blue", "red,blue", "green"]);
    }
    if (random.chance(0.12)) {
      return random.pick(["", "x", "None", "True", "5"]);
    }
    return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : "x";
  }

  #memberFilter(name: string, value: unknown): string {
    const [first]: readonly unknown[] = Array.isArray(value) ? value : [];
    if (name === "security_groups") {
      return String(first ?? "x");
    }
    const { ip_address = "10.0.0.1", subnet_id = "x" } = (first ?? {}) as Members;
    return this.#random.pick([
      `ip_address=${ip_address}`,
      `subnet_id=${subnet_id}`,
      "ip_address_substr=10.1",
      `ip_address=${ip_address}`,
      "bogus",
    ]);
  }

  #action(one: Omit<RandomRequest, "method">, source: BodySource): RandomRequest {
    const { subject, record, path, template } = one;
    const actions = Object.entries(subject.actions ?? {});
    if (actions.length === 0) {
      return { ...one, method: "GET" };
    }
    const [name, create] = this.#random.pick(actions);
    const body = create(source, record?.attributes ?? {});
    const to = { ...one, path: `${path}/${name}`, template: `${template}/${name}` };
    return body === undefined ? { ...to, method: "GET" } : { ...to, method: "PUT", body };
  }

  #tags(one: Omit<RandomRequest, "method">): RandomRequest {
    const random = this.#random;
    // Below the prefix of their extension, and below hyphens of segment ranges, Neutron loses the body.
    const [path, template] = [one.path, one.template].map((text) =>
      text.replace("/qos/", "/").replace("/network-segment-ranges/", "/network_segment_ranges/"),
    ) as [string, string];
    const tags = { ...one, path: `${path}/tags`, template: `${template}/tags` };
    const tag = {
      ...one,
      path: `${path}/tags/${random.pick(["red", "blue", "gone"])}`,
      template: `${template}/tags/{tag}`,
    };
    if (!mayTag(one)) {
      return random.pick<RandomRequest>([
        { ...tags, method: "GET" },
        { ...tag, method: "GET" },
      ]);
    }
    return random.pick<RandomRequest>([
      { ...tags, method: "GET" },
      {
        ...tags,
        method: "PUT",
        body: { tags: random.pick<unknown>([["red"], ["red", "blue"], [], ["a", "a"], "x", [5], ["y".repeat(300)]]) },
      },
      { ...tags, method: "DELETE" },
      { ...tag, method: "PUT" },
      { ...tag, method: "GET" },
      { ...tag, method: "DELETE" },
    ]);
  }

  #oddRequests({ singular }: Subject, path: string, template: string, id: string) {
    const project = this.#random.pick(["d0000000000000000000000000000001", "b0000000000000000000000000000001"]);
    const quota = (rest: string) => ({ path: `/v2.0/quotas/${project}${rest}`, template: `/v2.0/quotas/{id}${rest}` });
    return [
      { method: "PUT", path, template, body: { [singular]: { name: "x" } } },
      { method: "DELETE", path, template },
      { method: "PATCH", path: `${path}/${id}`, template: `${template}/{id}`, body: {} },
      { method: "POST", path: `${path}/${id}`, template: `${template}/{id}`, body: {} },
      { method: "GET", path: `${path}/${id}/bogus`, template: `${template}/{id}/bogus` },
      { method: "GET", path: "/v2.0/bogus", template: "/v2.0/bogus" },
      { method: "GET", ...quota("") },
      { method: "GET", ...quota("/default") },
      { method: "GET", ...quota("/details.json") },
      { method: "GET", path: "/v2.0/quotas", template: "/v2.0/quotas" },
      {
        method: "PUT",
        ...quota(""),
        body: { quota: this.#random.pick<Members>([{ network: 80 }, { bogus: 1 }, { port: "x" }, { router: -2 }, {}]) },
      },
      { method: "DELETE", ...quota("") },
      {
        method: "GET",
        path: `/v2.0/auto-allocated-topology/${project}?fields=dry-run`,
        template: "/v2.0/auto-allocated-topology/{id}?fields=dry-run",
      },
    ];
  }
}

/** Policies of tags are newer than Neutron 21, which lets everybody change those of the records that it shows. */
function mayTag({ caller, record }: Pick<RandomRequest, "caller" | "record">): boolean {
  const { projectId, roles } = NEUTRON_CALLERS[caller];
  const names: readonly string[] = roles;
  const isOwn = record?.collection !== "policies" && record?.attributes.project_id === projectId;
  return names.includes("admin") || (names.includes("member") && isOwn);
}

const WITHOUT_RECORD: readonly (readonly [number, Operation])[] = [
  [70, "create"],
  [18, "list"],
  [3, "show"],
  [2, "update"],
  [2, "delete"],
  [3, "odd"],
];

const WITH_RECORD: readonly (readonly [number, Operation])[] = [
  [36, "create"],
  [16, "update"],
  [12, "action"],
  [8, "delete"],
  [7, "show"],
  [14, "list"],
  [3, "tags"],
  [3, "odd"],
];
