import { audit } from "../../../src/audit/audit.js";
import { chooseCloud } from "../../../src/audit/cloud/choose-cloud.js";
import { openCloud } from "../../../src/audit/cloud/open-cloud.js";
import type { Violation } from "../violation.js";
import type { World } from "../world.js";

/** Milliseconds. The audit ignores changes of the last minute; here everything is at rest, so they are checked as well. */
const AHEAD = 90_000;

/** Returns the audit's findings over the public APIs, except those of excused consumers. */
export async function auditFindings({ directory, runtime }: World, excused: ReadonlySet<string>): Promise<Violation[]> {
  const { root, cloudsFile } = directory;
  const local = { file: cloudsFile, cloud: "devstack", requested: true };
  const cloud = await openCloud(
    runtime.http,
    await chooseCloud(runtime.files, { environment: {}, cwd: root, home: root, local }),
  );
  const clock = { now: () => runtime.clock.now() + AHEAD };
  const { findings } = await audit(cloud, { clock, maxShare: 1, thorough: true, onProgress: () => undefined });
  return findings
    .filter(({ subject }) => !excused.has(subject.uuid))
    .map(({ code, subject, explanation }) => ({
      subject: subject.uuid,
      what: `the audit finds ${code} of ${subject.kind} ${subject.name}: ${explanation}`,
    }));
}
