/** Version 12: limits of projects and of their users (`user_id` is empty for the project's own), and classes of limits. */
export const quotas = `
CREATE TABLE quotas (
  project_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  resource TEXT NOT NULL,
  hard_limit INTEGER NOT NULL,
  PRIMARY KEY (project_id, user_id, resource)
) STRICT;

CREATE TABLE quota_classes (
  class_name TEXT NOT NULL,
  resource TEXT NOT NULL,
  hard_limit INTEGER NOT NULL,
  PRIMARY KEY (class_name, resource)
) STRICT;
`;
