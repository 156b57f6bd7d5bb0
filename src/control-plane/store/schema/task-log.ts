/** Version 16: what hosts note of their audits. */
export const taskLog = `
CREATE TABLE task_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  task_name TEXT NOT NULL,
  host TEXT NOT NULL,
  period_beginning INTEGER NOT NULL,
  period_ending INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('RUNNING', 'DONE')),
  message TEXT NOT NULL,
  task_items INTEGER NOT NULL,
  errors INTEGER NOT NULL,
  UNIQUE (task_name, period_beginning, period_ending, host)
) STRICT;
`;
