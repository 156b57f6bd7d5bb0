/** Version 15: what users tell the scheduler of where their servers are to be. */
export const schedulerHints = `
ALTER TABLE request_specs ADD COLUMN scheduler_hints TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(scheduler_hints));
`;
