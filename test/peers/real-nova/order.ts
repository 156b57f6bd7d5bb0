import { BaseSequencer, type TestSpecification } from "vitest/node";

const NEEDS_A_NEW_CLOUD = "/real-nova/recorded.test.ts";

/** Sorts the files that share a real Nova; the order of all others stays the same. */
export class RealNovaInOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => place(one) - place(other));
  }
}

function place({ moduleId }: TestSpecification): number {
  return moduleId.endsWith(NEEDS_A_NEW_CLOUD) ? 0 : 1;
}
