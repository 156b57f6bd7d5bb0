/** Version 14: the files that servers begin with. */
export const injectedFiles = `
ALTER TABLE instances ADD COLUMN injected_files TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(injected_files));
`;
