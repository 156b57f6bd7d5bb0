/** Version 7: the oldest service of a kind is asked for by each schedule and by each agent that starts. */
export const hotLookups = `
CREATE INDEX services_by_version ON services (binary, version) WHERE deleted = 0;
`;
