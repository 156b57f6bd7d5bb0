import { audit } from "../../../src/audit/audit.js";
import { chooseCloud } from "../../../src/audit/cloud/choose-cloud.js";
import { openCloud } from "../../../src/audit/cloud/open-cloud.js";
import type { Violation } from "../violation.js";
import type { World } from "../world.js";

/** Milliseconds: what has changed within the last minute is not judged by the audit, and here everything is at rest. */
const AHEAD = 90_000;

/** What the audit finds, over the public APIs. */
export async function auditFindings({ directory, runtime }: World): Promise<Violation[]> {
  const { root, cloudsFile } = directory;
  const local = { file: cloudsFile, cloud: "devstack", asked: true };
  const cloud = await openCloud(
    runtime.http,
    await chooseCloud(runtime.files, { environment: {}, cwd: root, home: root, local }),
  );
  const clock = { now: () => runtime.clock.now() + AHEAD };
  const { findings } = await audit(cloud, { clock, maxShare: 1, thorough: true, onProgress: () => undefined });
  return findings.map(({ remedies: _, ...finding }) => ({
    subject: finding.subject.uuid,
    what: `the audit finds ${JSON.stringify(finding)}`,
  }));
}
