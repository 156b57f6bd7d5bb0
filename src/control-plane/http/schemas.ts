export type Schema = Readonly<Record<string, unknown>>;

/**
 * Schemas of one body or query by the minor microversion that introduced them, oldest first. `T` is the type of a valid
 * value; the schemas have to guarantee it.
 */
export interface SchemaVersions<T> {
  readonly versions: readonly (readonly [from: number, schema: Schema])[];
  /** For the type system only. */
  readonly type?: T;
}

export function schemas<T>(...versions: (readonly [from: number, schema: Schema])[]): SchemaVersions<T> {
  return { versions };
}

/** Returns the schema of a microversion; undefined before the first. */
export function schemaFor({ versions }: SchemaVersions<unknown>, minor: number): Schema | undefined {
  return versions.findLast(([from]) => from <= minor)?.[1];
}
