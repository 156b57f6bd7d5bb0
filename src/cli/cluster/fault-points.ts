import { driverRecordPath, readDriverRecord } from "../../agent/startup/driver-record.js";
import { IRONIC_FAULTS } from "../../control-plane/bare-metal/fault-points.js";
import { FAULT_LANGUAGE, type FaultPoint, type FaultTable, listPoints, settingsOf } from "../../faults/fault-rules.js";
import type { Files } from "../../runtime/files.js";
import { AGENT_FAULTS } from "../agent/agent-faults.js";

/** The points whose names begin with the same word. */
interface PointGroup {
  /** `agent` or `embedded Ironic`. */
  readonly program: string;
  /** `driver` */
  readonly name: string;
  readonly points: readonly FaultPoint[];
}

/** Driver whose agents send requests to Ironic. */
const IRONIC_DRIVER = "ironic";

/** Returns the points of agents and of the embedded Ironic, by program and first word. */
export function allPointGroups(): readonly PointGroup[] {
  return [...groupPoints("agent", AGENT_FAULTS), ...groupPoints("embedded Ironic", IRONIC_FAULTS)];
}

/** Returns the points of the embedded Ironic. */
export function ironicPointGroups(): readonly PointGroup[] {
  return groupPoints("embedded Ironic", IRONIC_FAULTS);
}

/**
 * Returns the points of one host's agent. Requests to Ironic can fail only where the host has the driver `ironic`; a host whose
 * driver is not recorded yet has all points.
 * @param statePath the agent's `state_path`
 */
export async function pointGroupsOfHost(files: Files, statePath: string, host: string): Promise<readonly PointGroup[]> {
  const driver = await readDriverRecord(files, driverRecordPath(statePath, host));
  return groupPoints("agent", AGENT_FAULTS).filter(
    ({ name }) => name !== "ironic" || driver === undefined || driver.name === IRONIC_DRIVER,
  );
}

/** Renders groups as a list for a terminal. */
export function pointsText(groups: readonly PointGroup[]): string {
  const sections = groups.map(({ program, name, points }) => `${name} (${program})\n${listPoints(points)}`);
  const errors = new Set(groups.flatMap(({ points }) => points.flatMap((point) => point.errors ?? [])));
  const language = errors.size === 0 ? FAULT_LANGUAGE : `${FAULT_LANGUAGE}; Error is one of ${[...errors].join(", ")}`;
  return `${sections.join("\n\n")}\n\n${language}`;
}

/** Renders groups as JSON: one object for each point. */
export function pointsJson(groups: readonly PointGroup[]): string {
  const rows = groups.flatMap(({ program, name, points }) =>
    points.map((point) => ({
      program,
      group: name,
      point: point.point,
      settings: settingsOf(point),
      errors: point.errors ?? [],
    })),
  );
  return JSON.stringify(rows, null, 2);
}

function groupPoints(program: string, table: FaultTable): readonly PointGroup[] {
  const groups = new Map<string, FaultPoint[]>();
  for (const point of table.values()) {
    const [name = ""] = point.point.split(".");
    groups.set(name, [...(groups.get(name) ?? []), point]);
  }
  return [...groups].map(([name, points]) => ({ program, name, points }));
}
