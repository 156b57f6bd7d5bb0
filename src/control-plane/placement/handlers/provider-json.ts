import type { Fragments, Provider } from "../model.js";

/** Renders a provider. The links and the tree depend on the microversion. */
export function providerJson(provider: Provider, prefix: string, minor: number): string {
  const url = JSON.stringify(`${prefix}/resource_providers/${provider.uuid}`).slice(0, -1);
  const relations = ["inventories", "usages"];
  if (minor >= 1) {
    relations.push("aggregates");
  }
  if (minor >= 6) {
    relations.push("traits");
  }
  if (minor >= 11) {
    relations.push("allocations");
  }
  let links = `{"rel":"self","href":${url}"}`;
  for (const relation of relations) {
    links += `,{"rel":"${relation}","href":${url}/${relation}"}`;
  }
  const tree =
    minor >= 14
      ? `,"parent_provider_uuid":${provider.parent === null ? "null" : `"${provider.parent.uuid}"`}` +
        `,"root_provider_uuid":"${provider.root.uuid}"`
      : "";
  return (
    `{"uuid":"${provider.uuid}","name":${JSON.stringify(provider.name)},"generation":${provider.generation}` +
    `,"links":[${links}]${tree}}`
  );
}

/** The max number of cached fragments per provider; its cache is cleared when it is full. */
const MAX_FRAGMENTS = 16;

/** Returns a fragment of JSON, cached until the provider changes. */
export function fragment(provider: Provider, key: string, make: () => string): string {
  const { pieces } = fragmentsOf(provider);
  const known = pieces.get(key);
  if (known !== undefined) {
    return known;
  }
  const made = flat(make());
  if (pieces.size >= MAX_FRAGMENTS) {
    pieces.clear();
  }
  pieces.set(key, made);
  return made;
}

/** Returns the provider's cache of fragments, which is cleared when the provider changes. */
export function fragmentsOf(provider: Provider): Fragments {
  provider.fragments ??= { pieces: new Map(), summary: null, offer: null };
  return provider.fragments;
}

/** Flattens a string: V8 stores concatenated strings as trees until code reads a character. */
function flat(text: string): string {
  text.charCodeAt(0);
  return text;
}
