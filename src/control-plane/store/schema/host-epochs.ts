/** How often each host has changed hands; outlives its leases, so that a later holder always has a greater number. */
export const hostEpochs = `
CREATE TABLE host_epochs (
  host TEXT PRIMARY KEY,
  epoch INTEGER NOT NULL CHECK (epoch > 0)
) STRICT, WITHOUT ROWID;
`;
