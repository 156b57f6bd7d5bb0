/** Version 8: what lists of a large deployment are read by, in their order. */
export const listIndexes = `
CREATE INDEX instances_alive_by_age ON instances (created_at) WHERE deleted = 0;
CREATE INDEX instances_alive_by_state ON instances (vm_state, created_at) WHERE deleted = 0;
CREATE INDEX migrations_alive_by_age ON migrations (created_at) WHERE deleted = 0;
`;
