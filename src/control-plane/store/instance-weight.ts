import type { Instance } from "../../records/index.js";

/** Characters of what users may make long: all else of an instance is short. */
export function instanceWeight({ userData, injectedFiles, metadata, systemMetadata }: Instance): number {
  let weight = (userData?.length ?? 0) + lengthOf(metadata) + lengthOf(systemMetadata);
  for (const { contents } of injectedFiles) {
    weight += contents.length;
  }
  return weight;
}

function lengthOf(strings: Readonly<Record<string, string>>): number {
  let length = 0;
  for (const name in strings) {
    length += name.length + (strings[name]?.length ?? 0);
  }
  return length;
}
