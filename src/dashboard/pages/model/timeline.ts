import type { ConsumerRow, ServerLife } from "../../wire/rows.js";
import { dateTime, fineTime } from "./format.js";

/**
 * A time axis on which each gap has a logarithmic length, so that hours between two moves do not hide the milliseconds
 * within one.
 */
interface Axis {
  /** Returns the position in percent. */
  place(at: number): number;
  readonly ticks: readonly { readonly at: number; readonly place: number }[];
}

/** Milliseconds that a gap of no length still occupies, so that consecutive events can be distinguished. */
const SHORTEST = 40;

const MAX_TICKS = 7;

const lengthOf = (ms: number): number => Math.log2(1 + ms / SHORTEST) + 0.25;

/** The visual style of a section. */
export type Tone = keyof typeof TONE_NAMES;

/** The meaning of each style, for the legend. */
export const TONE_NAMES = {
  action: "action",
  failed: "failed action",
  task: "task state",
  guest: "instance",
  server: "allocations of the server",
  migration: "allocations of a migration",
  stale: "stale allocations",
  unobserved: "not observed",
} as const;

/** A section of a lane, in percent of the width. */
interface Stretch {
  readonly from: number;
  readonly width: number;
  readonly label: string;
  readonly tone: Tone;
  readonly title: string;
}

export interface Lane {
  /** The group of the lane: the host, or the lane's own label. */
  readonly name: string;
  /** `instance on devstack1`, `allocations on devstack1` */
  readonly label: string;
  readonly stretches: readonly Stretch[];
}

export interface Timeline {
  readonly lanes: readonly Lane[];
  readonly axis: Axis;
}

/** The content of a host's lane; "" for a lane without a host. */
type Part = "instance" | "allocations" | "migration's allocations" | "";

interface Bit extends Omit<Stretch, "from" | "width"> {
  readonly lane: string;
  readonly part: Part;
  readonly at: number;
  readonly until: number;
}

/**
 * Returns the history of a server as lanes over one axis. `providers` returns a provider's name. Sections that have not
 * ended end at `now`.
 */
export function timelineOf(life: ServerLife, providers: (uuid: string) => string | null, at: number): Timeline {
  const now = Math.max(at, ...timesOf(life));
  const bits = [
    ...actionsOf(life, now),
    ...tasksOf(life, now),
    ...guestsOf(life, now),
    ...allocationsOf(life, providers, now),
  ];
  const axis = axisOf(bits.flatMap(({ at, until }) => [at, until]));
  const lanes = new Map<string, { name: string; label: string; stretches: Stretch[] }>();
  for (const { lane, part, at, until, label, tone, title } of bits) {
    const key = `${lane}\n${part}`;
    const known = lanes.get(key) ?? { name: lane, label: part === "" ? lane : `${part} on ${lane}`, stretches: [] };
    lanes.set(key, known);
    const from = axis.place(at);
    const width = Math.max(axis.place(until) - from, 0);
    known.stretches.push({ from, width, label, tone, title: `${title} (${period(at, until, now)})` });
  }
  return { lanes: inOrder([...lanes.values()]), axis };
}

/** Returns the times of a section: `2026-01-15 09:00:00.130 to 09:15:00.200`. */
function period(at: number, until: number, now: number): string {
  const [from, to] = [dateTime(at), dateTime(until)];
  const end = from.slice(0, 10) === to.slice(0, 10) ? fineTime(until) : to;
  return `${from.slice(0, 10)} ${fineTime(at)} to ${until >= now ? "now" : end}`;
}

/** The page's clock ticks once a second, so events since the last tick must not appear to be in the future. */
function timesOf({ actions, states, history }: ServerLife): readonly number[] {
  const events = actions.flatMap((action) => action.events);
  return [
    ...[...actions, ...events].map(({ startedAt, finishedAt }) => finishedAt ?? startedAt),
    ...[...states, ...history].map(({ at }) => at),
  ];
}

/** Sorts actions and tasks first, then lanes by host. */
function inOrder(lanes: readonly Lane[]): readonly Lane[] {
  const names = [...new Set(lanes.map(({ name }) => name))];
  return names.flatMap((name) => lanes.filter((lane) => lane.name === name));
}

function actionsOf({ actions }: ServerLife, now: number): Bit[] {
  return actions.map(({ action, startedAt, finishedAt, message, events }) => {
    const ended = events.map((event) => event.finishedAt ?? event.startedAt);
    const until =
      finishedAt ?? (events.some((event) => event.finishedAt === null) ? now : Math.max(startedAt, ...ended));
    const failed = message !== null;
    const title = `${action}${failed ? `: ${message}` : ""}`;
    return {
      lane: "Actions",
      part: "",
      at: startedAt,
      until,
      label: action,
      tone: failed ? "failed" : "action",
      title,
    };
  });
}

function tasksOf(life: ServerLife, now: number): Bit[] {
  const { states, deletedAt } = life;
  const tasks = states.flatMap(({ at, taskState, vmState }, index): Bit[] => {
    const until = states[index + 1]?.at ?? deletedAt ?? now;
    return taskState === null
      ? []
      : [{ lane: "Task", part: "", at, until, label: taskState, tone: "task", title: `${vmState}, ${taskState}` }];
  });
  return [...unobservedTasksOf(life, now), ...tasks];
}

/** Returns the section before task states were recorded. Tasks that began and ended in it are unknown. */
function unobservedTasksOf({ server, states, observedSince, deletedAt }: ServerLife, now: number): Bit[] {
  const [first] = states;
  const until = Math.min(first?.at ?? observedSince ?? now, deletedAt ?? now);
  const isObserved = first?.vmState === "building" || until <= server.createdAt;
  const title = "not observed: task states are recorded only while a dashboard is open";
  return isObserved
    ? []
    : [{ lane: "Task", part: "", at: server.createdAt, until, label: "not observed", tone: "unobserved", title }];
}

function guestsOf({ hosts }: ServerLife, now: number): Bit[] {
  return hosts.map(({ host, from, to }) => ({
    lane: host,
    part: "instance",
    at: from,
    until: to ?? now,
    label: to === null ? "current host" : "former host",
    tone: "guest",
    title: `instance on ${host}`,
  }));
}

function amountsOf(held: Readonly<Record<string, number>>): string {
  return Object.entries(held)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}

/** Returns a section for each consumer on each provider, from one change of its allocations to the next. */
function allocationsOf(life: ServerLife, providers: (uuid: string) => string | null, now: number): Bit[] {
  const bits = unobservedOf(life, providers);
  const history = [
    ...life.history,
    ...life.consumers
      .filter((consumer) => isWithoutHistory(consumer, life))
      .map((consumer) => ({ at: startOf(life), consumer })),
  ];
  const open = new Map<string, { at: number; consumer: ConsumerRow; amounts: string }>();
  const end = (key: string, until: number) => {
    const known = open.get(key);
    if (known !== undefined) {
      const [, provider = ""] = key.split("\n");
      const { type } = known.consumer;
      const title = `allocations of ${type === "migration" ? "migration" : "server"} ${shortOf(known.consumer)}: ${known.amounts}${type === "stale" ? ", stale" : ""}`;
      const lane = providers(provider) ?? provider;
      const part = partOf(known.consumer, life);
      bits.push({ lane, part, at: known.at, until, label: type, tone: type, title });
      open.delete(key);
    }
  };
  for (const { at, consumer } of history) {
    for (const [key, known] of open) {
      const provider = key.split("\n")[1] ?? "";
      if (known.consumer.uuid === consumer.uuid && amountsOf(consumer.held[provider] ?? {}) !== known.amounts) {
        end(key, at);
      } else if (known.consumer.uuid === consumer.uuid && known.consumer.type !== consumer.type) {
        end(key, at);
      }
    }
    for (const [provider, held] of Object.entries(consumer.held)) {
      const key = `${consumer.uuid}\n${provider}`;
      if (!open.has(key)) {
        open.set(key, { at, consumer, amounts: amountsOf(held) });
      }
    }
  }
  for (const key of [...open.keys()]) {
    end(key, life.deletedAt ?? now);
  }
  return bits.sort((a, b) => a.at - b.at);
}

/**
 * Returns the sections before each consumer's first observation. Placement does not record when an allocation was made:
 * at the earliest, when its server or migration was created.
 */
function unobservedOf(life: ServerLife, providers: (uuid: string) => string | null): Bit[] {
  const visited = new Set<string>();
  const first = [...life.history, ...life.consumers.map((consumer) => ({ at: startOf(life), consumer }))].filter(
    ({ consumer: { uuid } }) => !visited.has(uuid) && visited.add(uuid),
  );
  return first.flatMap(({ at, consumer }) => {
    const from = createdOf(life, consumer);
    return from >= at || isObservedSince(life, consumer, from)
      ? []
      : Object.entries(consumer.held).map(([provider, held]) => ({
          lane: providers(provider) ?? provider,
          part: partOf(consumer, life),
          at: from,
          until: at,
          label: "not observed",
          tone: "unobserved",
          title: `not observed: ${shortOf(consumer)} may have had ${amountsOf(held)} since its creation`,
        }));
  });
}

function createdOf({ server, migrations }: ServerLife, { uuid }: ConsumerRow): number {
  return migrations.find((migration) => migration.uuid === uuid)?.createdAt ?? server.createdAt;
}

/**
 * Returns whether the consumer was observed from its beginning. States are recorded while a viewer is connected, so
 * this needs a recorded build, or a move that began after the first recorded state.
 */
function isObservedSince({ server, states }: ServerLife, { uuid }: ConsumerRow, from: number): boolean {
  const [state] = states;
  return state !== undefined && (state.at <= from || (uuid === server.uuid && state.vmState === "building"));
}

function partOf({ uuid }: ConsumerRow, { server }: ServerLife): Part {
  return uuid === server.uuid ? "allocations" : "migration's allocations";
}

const shortOf = ({ uuid }: ConsumerRow): string => uuid.slice(0, 8);

const startOf = (life: ServerLife): number => life.server.updatedAt ?? life.server.createdAt;

function isWithoutHistory({ uuid }: ConsumerRow, { history }: ServerLife): boolean {
  return !history.some(({ consumer }) => consumer.uuid === uuid);
}

/** @internal */
export function axisOf(times: readonly number[]): Axis {
  const moments = [...new Set(times)].sort((a, b) => a - b);
  const places = [0];
  for (let index = 1; index < moments.length; index++) {
    places.push((places[index - 1] ?? 0) + lengthOf((moments[index] ?? 0) - (moments[index - 1] ?? 0)));
  }
  const total = places.at(-1) || 1;
  const place = (at: number): number => {
    const after = moments.findIndex((moment) => moment >= at);
    if (after === -1) {
      return moments.length === 0 ? 0 : 100;
    }
    const [from, to] = [places[after - 1] ?? 0, places[after] ?? 0];
    const [start, end] = [moments[after - 1] ?? at, moments[after] ?? at];
    const share = end === start ? 1 : (at - start) / (end - start);
    return ((from + (to - from) * share) / total) * 100;
  };
  return { place, ticks: ticksOf(moments, place) };
}

/** Returns the moments that are far enough apart to be labelled. */
function ticksOf(moments: readonly number[], place: (at: number) => number): Axis["ticks"] {
  const ticks: { at: number; place: number }[] = [];
  for (const at of moments) {
    const here = place(at);
    if (here - (ticks.at(-1)?.place ?? -Infinity) >= 100 / MAX_TICKS) {
      ticks.push({ at, place: here });
    }
  }
  return ticks;
}
